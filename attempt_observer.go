// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/binarylog"
	"google.golang.org/grpc/internal/telemetry"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
)

func (r *clientCall) tellBegin(a *attempt) {
	a.ctx = r.stats.tag(a.ctx, &stats.RPCTagInfo{
		FullMethodName:      r.call.Method,
		FailFast:            !r.info.waitForReady,
		NameResolutionDelay: r.waited && !r.again.Retry,
	})
	a.begun = time.Now()
	r.stats.emit(a.ctx, &stats.Begin{
		Client:                    true,
		BeginTime:                 a.begun,
		FailFast:                  !r.info.waitForReady,
		IsClientStream:            r.desc != nil && r.desc.ClientStreams,
		IsServerStream:            r.desc != nil && r.desc.ServerStreams,
		IsTransparentRetryAttempt: r.again.Transparent,
	})
}

func (r *clientCall) tellOutHeader(a *attempt) {
	peer := a.link.Client().Peer()
	r.stats.emit(a.ctx, &stats.OutHeader{
		Client:      true,
		Compression: r.call.SendCompressor,
		Header:      r.call.Sent(a.ctx, r.cc.opts.Transport.UserAgent),
		FullMethod:  r.call.Method,
		RemoteAddr:  peer.Addr,
		LocalAddr:   peer.LocalAddr,
		Authority:   r.authority(a),
	})
}

// observed says that somebody wants to know what happens to the RPC.
func (r *clientCall) observed() bool { return len(r.stats) > 0 || r.log != nil }

// tellSent reports a message that was handed to the connection.
func (r *clientCall) tellSent(a *attempt, msg any, n messageSizes) {
	if a.seen != nil {
		a.seen.Sent(telemetry.Message{Length: n.length, Compressed: n.wire})
	}
	if len(r.stats) == 0 {
		return
	}
	e := outPayload(msg, n)
	e.Client = true
	r.stats.emit(a.ctx, &e)
}

func (r *clientCall) tellReceived(a *attempt, msg any, n messageSizes) {
	r.log.Message(binarylog.Server, n.plain)
	if len(r.stats) > 0 {
		e := inPayload(msg, n)
		e.Client = true
		r.stats.emit(a.ctx, &e)
	}
}

// tellIn reports the response headers, once, if they are there.
func (r *clientCall) tellIn(a *attempt) {
	if !r.observed() || !a.stream.GotHeaders() || a.headerTold.Swap(true) {
		return
	}
	md := a.stream.Header()
	r.log.ServerHeader(md, a.stream.Client().Peer().Addr)
	if len(r.stats) > 0 {
		r.stats.emit(a.ctx, &stats.InHeader{
			Client:      true,
			WireLength:  a.stream.HeaderWireLength(),
			Compression: a.stream.RecvCompress(),
			Header:      md,
		})
	}
}

func (r *clientCall) tellTrailer(a *attempt) {
	if n := a.stream.TrailerWireLength(); n > 0 {
		r.stats.emit(a.ctx, &stats.InTrailer{Client: true, WireLength: n, Trailer: a.stream.Trailer()})
	}
}

var (
	errNoReply = status.Error(codes.Internal, "cardinality violation: received no response message from non-server-streaming RPC")
	errTwoMany = status.Error(codes.Internal, "cardinality violation: expected <EOF> for non server-streaming RPCs, but received another message")
)
