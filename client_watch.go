// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"net"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/binarylog"
	"google.golang.org/grpc/internal/telemetry"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
)

// clientWatch tells those that watch an RPC: telemetry plugins and the channel's stats handlers
// are told of each attempt, the binary log of the RPC as a whole. Callers need not check whether there
// are any: if there are none, each method costs a comparison.
type clientWatch struct {
	stats statsHandlers
	log   *binarylog.Call // nil: none
}

// attemptInfo is what tellBegin tells the stats handlers, and which plugins it tells.
type attemptInfo struct {
	telemetry.AttemptInfo
	plugins  telemetry.Channels
	desc     *StreamDesc // nil: unary
	failFast bool
}

// observed reports whether there are stats handlers or a binary log.
func (w *clientWatch) observed() bool { return len(w.stats) > 0 || w.log != nil }

// tellBegin tells that an attempt begins. Stats handlers and plugins may add values to a.ctx.
func (w *clientWatch) tellBegin(a *attempt, info attemptInfo) {
	if len(w.stats) > 0 {
		a.ctx = w.stats.tag(a.ctx, &stats.RPCTagInfo{
			FullMethodName:      info.Method,
			FailFast:            info.failFast,
			NameResolutionDelay: info.Resolved,
		})
		a.begun = time.Now()
		w.stats.emit(a.ctx, &stats.Begin{
			Client:                    true,
			BeginTime:                 a.begun,
			FailFast:                  info.failFast,
			IsClientStream:            info.desc != nil && info.desc.ClientStreams,
			IsServerStream:            info.desc != nil && info.desc.ServerStreams,
			IsTransparentRetryAttempt: info.Transparent,
		})
	}
	if len(info.plugins) > 0 {
		a.ctx, a.seen = info.plugins.BeginAttempt(a.ctx, info.AttemptInfo)
	}
}

// tellPicked tells that a, which had to wait for its connection, has one.
func (w *clientWatch) tellPicked(a *attempt) {
	if len(w.stats) > 0 {
		w.stats.emit(a.ctx, &stats.DelayedPickComplete{})
	}
	if a.seen != nil {
		a.seen.Picked()
	}
}

// knowPeer adds the server to a.ctx, where stats handlers find it by package peer in all events that
// follow. It takes precedence over a peer in the caller's own context.
func (w *clientWatch) knowPeer(a *attempt) {
	if len(w.stats) > 0 {
		a.ctx = peer.NewContext(a.ctx, a.Link.Client().Peer())
	}
}

func (w *clientWatch) tellOutHeader(a *attempt, call *transport.Call, userAgent string) {
	if len(w.stats) == 0 {
		return
	}
	server := a.Link.Client().Peer()
	w.stats.emit(a.ctx, &stats.OutHeader{
		Client:      true,
		Compression: call.SendCompressor,
		Header:      call.Sent(a.ctx, userAgent),
		FullMethod:  call.Method,
		RemoteAddr:  server.Addr,
		LocalAddr:   server.LocalAddr,
		Authority:   a.Authority(call),
	})
}

// tellSent reports a message that was handed to the connection. It does not tell the log: logSent does.
func (w *clientWatch) tellSent(a *attempt, msg any, n messageSizes) {
	if a.seen != nil {
		a.seen.Sent(n.message())
	}
	if len(w.stats) > 0 {
		e := outPayload(msg, n)
		e.Client = true
		w.stats.emit(a.ctx, &e)
	}
}

// tellsMessages reports whether anybody is given the messages themselves.
func (w *clientWatch) tellsMessages() bool { return len(w.stats) > 0 }

// tellReceived reports a message that was decoded.
func (w *clientWatch) tellReceived(a *attempt, msg any, n messageSizes) {
	if a.seen != nil {
		a.seen.Received(n.message())
	}
	if !w.observed() {
		return
	}
	w.tellIn(a)
	w.log.Message(binarylog.Server, n.plain)
	if len(w.stats) > 0 {
		e := inPayload(msg, n)
		e.Client = true
		w.stats.emit(a.ctx, &e)
	}
}

// awaitIn waits for the response headers and reports them, if anybody is to be told: the first
// message may come much later.
func (w *clientWatch) awaitIn(a *attempt) {
	if w.observed() && !a.headerTold.Load() {
		_ = a.Stream.Header()
		w.tellIn(a)
	}
}

// tellIn reports the response headers, once, if they have arrived. If somebody else is about to, it waits: whatever is
// told next comes after them.
func (w *clientWatch) tellIn(a *attempt) {
	if w.observed() && !a.headerTold.Load() {
		a.telling.Lock()
		defer a.telling.Unlock()
		w.tellInLocked(a)
	}
}

// tryTellIn is tellIn, but does not wait. Senders call it: programs may not receive for a long time.
func (w *clientWatch) tryTellIn(a *attempt) {
	if w.observed() && !a.headerTold.Load() && a.telling.TryLock() {
		defer a.telling.Unlock()
		w.tellInLocked(a)
	}
}

func (w *clientWatch) tellInLocked(a *attempt) {
	if a.headerTold.Load() || !a.Stream.GotHeaders() {
		return
	}
	defer a.headerTold.Store(true) // also if a handler panics
	md := a.Stream.Header()
	w.log.ServerHeader(md, a.Stream.Client().Peer().Addr)
	if len(w.stats) > 0 {
		w.stats.emit(a.ctx, &stats.InHeader{
			Client:      true,
			WireLength:  a.Stream.HeaderWireLength(),
			Compression: a.Stream.RecvCompress(),
			Header:      md,
		})
	}
}

// endIn is the last report of the response headers: none that arrive later are told. It does not wait for a handler that
// is being told of them, which may take what time it likes: the RPC may have been cancelled meanwhile.
func (w *clientWatch) endIn(a *attempt) {
	if a.telling.TryLock() {
		defer a.telling.Unlock()
		w.tellInLocked(a)
		a.headerTold.Store(true)
	}
}

// tellResponse reports headers and trailers that were not reported yet.
func (w *clientWatch) tellResponse(a *attempt) {
	if a.Stream == nil || len(w.stats) == 0 {
		return
	}
	w.endIn(a)
	if n := a.Stream.TrailerWireLength(); n > 0 {
		w.stats.emit(a.ctx, &stats.InTrailer{Client: true, WireLength: n, Trailer: a.Stream.Trailer()})
	}
}

func (w *clientWatch) tellEnd(a *attempt, err error) {
	if len(w.stats) > 0 && !a.begun.IsZero() { // it is zero if a handler panicked before
		e := &stats.End{Client: true, BeginTime: a.begun, EndTime: time.Now(), Error: err}
		if a.Stream != nil {
			//lint:ignore SA1019 handlers still read it
			e.Trailer = a.Stream.Trailer()
		}
		w.stats.emit(a.ctx, e)
	}
	if a.seen == nil {
		return
	}
	var response telemetry.Response
	if a.Stream != nil {
		response = a.Stream
	}
	a.seen.End(err, response)
}

// logBegin gives the log the beginning of the RPC (gRFC A16), if its method is logged. The log
// keeps it until the first attempt has opened a stream: an RPC that credentials or the connection
// refuse is not logged. The log is told of the RPC, not of its attempts. logBegin adds to h the
// timeout, which it takes from ctx.
func (w *clientWatch) logBegin(ctx context.Context, h binarylog.ClientHeader) {
	if deadline, ok := ctx.Deadline(); ok {
		h.Timeout = time.Until(deadline)
	}
	w.log.Begin(h)
}

// logSent logs a message when it is sent for the first time. No half-close follows in the log if
// the client does not stream.
func (w *clientWatch) logSent(n messageSizes) {
	if w.log != nil {
		w.log.Message(binarylog.Client, n.plain)
	}
}

// logEnd logs how the RPC ended: as cancelled if the program has cancelled it and the server's trailers have not
// come, and otherwise with the trailers, or with a status that was made here (gRFC A16), as of a deadline that has
// passed or of an interceptor. ctx has been cancelled in all these cases. The attempt may be nil.
func (w *clientWatch) logEnd(ctx context.Context, a *attempt, err error) {
	if w.log == nil {
		return
	}
	var (
		server  net.Addr
		trailer metadata.MD
	)
	if a != nil && a.Stream != nil && !a.superseded { // gRFC A16 logs nothing of attempts that do not count
		w.tryTellIn(a)
		server, trailer = a.Stream.Client().Peer().Addr, a.Stream.Trailer()
	}
	answered := trailer != nil && a.Stream.GotTrailers()
	if !answered && ctx.Err() != nil && status.Code(err) == codes.Canceled {
		w.log.Cancel()
		return
	}
	w.log.Trailer(status.Convert(err), trailer, server)
}
