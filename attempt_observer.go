// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/binarylog"
	"google.golang.org/grpc/internal/telemetry"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
)

// An RPC is told to who watches it: plugins of telemetry, the channel's stats handlers and
// the binary log. The methods here are called whether there is somebody or not, and each
// costs a comparison where there is nobody.

// attemptWatch is what has been told of an attempt.
type attemptWatch struct {
	seen       telemetry.Attempt // nil: no plugin looks at it
	begun      time.Time         // when stats handlers were told
	headerTold atomic.Bool
}

// observed says that stats handlers or the binary log want to know.
func (r *clientCall) observed() bool { return len(r.stats) > 0 || r.log != nil }

// tellBegin may add to the attempt's context.
func (r *clientCall) tellBegin(a *attempt) {
	if len(r.stats) > 0 {
		a.ctx = r.stats.tag(a.ctx, &stats.RPCTagInfo{
			FullMethodName:      r.call.Method,
			FailFast:            !r.info.waitForReady,
			NameResolutionDelay: r.waited && !r.again.Retry,
		})
		a.watch.begun = time.Now()
		r.stats.emit(a.ctx, &stats.Begin{
			Client:                    true,
			BeginTime:                 a.watch.begun,
			FailFast:                  !r.info.waitForReady,
			IsClientStream:            r.desc != nil && r.desc.ClientStreams,
			IsServerStream:            r.desc != nil && r.desc.ServerStreams,
			IsTransparentRetryAttempt: r.again.Transparent,
		})
	}
	if len(r.cc.opts.telemetry) > 0 {
		a.ctx, a.watch.seen = r.cc.opts.telemetry.BeginAttempt(a.ctx, telemetry.AttemptInfo{
			Method:      r.call.Method,
			Previous:    r.retry.Made(),
			Transparent: r.again.Transparent,
			Resolved:    r.waited && !r.again.Retry,
		})
	}
}

// tellPicked is for an attempt that had to wait for its connection.
func (r *clientCall) tellPicked(a *attempt) {
	if len(r.stats) > 0 {
		r.stats.emit(a.ctx, &stats.DelayedPickComplete{})
	}
	if a.watch.seen != nil {
		a.watch.seen.Picked()
	}
}

func (r *clientCall) tellOutHeader(a *attempt) {
	if len(r.stats) == 0 {
		return
	}
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

// tellSent reports a message that was handed to the connection. The log is told by logSent:
// it hears of RPCs, not of attempts.
func (r *clientCall) tellSent(a *attempt, msg any, n messageSizes) {
	if a.watch.seen != nil {
		a.watch.seen.Sent(n.message())
	}
	if len(r.stats) > 0 {
		e := outPayload(msg, n)
		e.Client = true
		r.stats.emit(a.ctx, &e)
	}
}

// tellReceived reports a message that was decoded.
func (r *clientCall) tellReceived(a *attempt, msg any, n messageSizes) {
	if a.watch.seen != nil {
		a.watch.seen.Received(n.message())
	}
	if !r.observed() {
		return
	}
	r.tellIn(a)
	r.log.Message(binarylog.Server, n.plain)
	if len(r.stats) > 0 {
		e := inPayload(msg, n)
		e.Client = true
		r.stats.emit(a.ctx, &e)
	}
}

// tellIn reports the response headers, once, if they are there.
func (r *clientCall) tellIn(a *attempt) {
	if !r.observed() || !a.stream.GotHeaders() || a.watch.headerTold.Swap(true) {
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

// tellResponse reports what of the response is not told yet.
func (r *clientCall) tellResponse(a *attempt) {
	if a.stream == nil || len(r.stats) == 0 {
		return
	}
	r.tellIn(a)
	if n := a.stream.TrailerWireLength(); n > 0 {
		r.stats.emit(a.ctx, &stats.InTrailer{Client: true, WireLength: n, Trailer: a.stream.Trailer()})
	}
}

func (r *clientCall) tellEnd(a *attempt, err error) {
	if len(r.stats) > 0 {
		e := &stats.End{Client: true, BeginTime: a.watch.begun, EndTime: time.Now(), Error: err}
		if a.stream != nil {
			//lint:ignore SA1019 handlers still read it
			e.Trailer = a.stream.Trailer()
		}
		r.stats.emit(a.ctx, e)
	}
	if a.watch.seen == nil {
		return
	}
	var response telemetry.Response
	if a.stream != nil {
		response = a.stream
	}
	a.watch.seen.End(err, response)
}

var (
	errNoReply = status.Error(codes.Internal, "cardinality violation: received no response message from non-server-streaming RPC")
	errTwoMany = status.Error(codes.Internal, "cardinality violation: expected <EOF> for non server-streaming RPCs, but received another message")
)
