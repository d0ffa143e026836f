// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"net"
	"time"

	"google.golang.org/grpc/internal/binarylog"
	"google.golang.org/grpc/internal/ctxkey"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// beginLog begins the binary log of the RPC (gRFC A16), if its method is logged. What is
// logged is the RPC, not its attempts.
func (r *clientCall) beginLog() {
	r.log = binarylog.NewCall(binarylog.Client, r.call.Method)
	if r.log == nil {
		return
	}
	r.writer.keep = true
	h := binarylog.ClientHeader{
		Method:    r.call.Method,
		Authority: r.cc.channel.Authority(),
		Metadata:  ctxkey.OutgoingFrom(r.ctx).CopyMD(),
	}
	if r.info.authority != "" {
		h.Authority = r.info.authority
	}
	if deadline, ok := r.ctx.Deadline(); ok {
		h.Timeout = time.Until(deadline)
	}
	r.log.ClientHeader(h)
}

// logSent logs a message when it is sent for the first time, and the end of what is sent
// if that was the last.
func (r *clientCall) logSent(n messageSizes, last bool) {
	if r.log == nil {
		return
	}
	r.log.Message(binarylog.Client, n.plain)
	if last {
		r.log.HalfClose()
	}
}

// logEnd logs how the RPC ended: by the server's trailers, or because it was given up.
func (r *clientCall) logEnd(a *attempt, err error) {
	var (
		peer    net.Addr
		trailer metadata.MD
	)
	if a != nil && a.stream != nil {
		r.tellIn(a)
		peer, trailer = a.stream.Client().Peer().Addr, a.stream.Trailer()
	}
	if (trailer == nil || !a.stream.GotTrailers()) && r.ctx.Err() != nil {
		r.log.Cancel()
		return
	}
	r.log.Trailer(status.Convert(err), trailer, peer)
}
