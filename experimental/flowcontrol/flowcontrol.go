// SPDX-License-Identifier: Apache-2.0

// Package flowcontrol limits how long streams wait for a peer that does not read.
//
// Send accepts messages while no more than about 64 to 128 KiB of the stream wait to be sent. After that
// it waits until the peer has read some, for as long as the RPC lasts. So a handler without a deadline
// may wait for ever, and so may a stream whose handler has returned: it keeps its place under
// MaxConcurrentStreams, and its memory.
//
//	server := grpc.NewServer(flowcontrol.MaxSendWait(10*time.Second), flowcontrol.MaxEndWait(10*time.Second))
//
// # Semantics
//
//   - [HasRoom] reports whether Send would accept a message without waiting. [WaitForRoom] waits until it
//     would, but no longer than a context lasts. If there is no room by then, the stream is as it was:
//     the program may send something else, or nothing.
//   - [MaxSendWait], of a server, and [WithMaxSendWait], of a channel, limit each Send of each stream. A
//     Send that has waited for so long fails with code ResourceExhausted, and so does the RPC: no
//     message is sent after it, as one is missing. A handler gets the error from Send, a client from
//     SendMsg and RecvMsg.
//   - [MaxEndWait], of a server, is for streams whose handler has returned, and for unary replies. If
//     the client takes nothing of what is left for that long, the server resets the stream with CANCEL,
//     and frees its place and memory. A client that reads, however slowly, is not cut off. The wait does
//     not keep a stream alive: a stream that is reset, or whose connection is lost, is forgotten at
//     once.
//
// By default there are no limits, as in the published module.
//
// # Edges
//
//   - Interceptors: streams may be wrapped, if their Context derives from the RPC's. MaxSendWait is an
//     interceptor, and has the place of the option among those of grpc.ChainStreamInterceptor.
//   - Retries: once HasRoom or WaitForRoom has been called for a client's stream, the RPC is no longer
//     retried, as with ClientStream.Context; with WithMaxSendWait that holds from the first Send on. Call
//     them after Header or RecvMsg. A hedged stream has room until one attempt counts.
//   - Streams that were handed over (package experimental/streams) never wait: TrySend and OnReady
//     serve the same purpose there. MaxEndWait applies to them once OnDone has returned.
//   - Behind ServeHTTP it is net/http that waits, and it does not tell: there always is room, and nothing
//     is limited; use http.Server.WriteTimeout and the like there.
//   - bufconn, unix sockets, TLS: as with TCP, as the windows are HTTP/2's. With package xds, pass the
//     options to xds.NewGRPCServer, and to the channel as to any other.
//   - Room depends on the stream and on its connection: many streams that are not read share the limit of
//     the connection's send queue. As always, only one goroutine at a time may call Send on a stream, and
//     the same holds for these functions.
//   - MaxSendWait wraps streams, and a streams.Group sends on a wrapped stream by a slower path.
//
// All of this may change, or be removed, in a later release.
package flowcontrol

import (
	"context"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/ctxkey"
	"google.golang.org/grpc/internal/handover"
	"google.golang.org/grpc/status"
)

// Stream is a grpc.ServerStream, a grpc.ClientStream, or a stream of generated code.
type Stream interface {
	Context() context.Context
	SendMsg(m any) error
}

// room reports whether a stream has room. If it has none, w is woken when it has.
type room func(w handover.Waker) bool

// roomOf returns the room of a client's stream, or nil if the stream is not one of this module.
func roomOf(ctx context.Context) room {
	if c, ok := ctx.Value(ctxkey.ClientRoom{}).(handover.Client); ok {
		return c.ArmRoom
	}
	return nil
}

func serverRoom(ctx context.Context) room {
	if s, ok := ctx.Value(handover.Key{}).(handover.Server); ok {
		return func(w handover.Waker) bool { return s.ArmRoom(w, false) }
	}
	return nil
}

// of returns the room of a stream of either side, or nil if that is not known.
func of(s Stream) room {
	if _, client := s.(interface{ CloseSend() error }); client {
		return roomOf(s.Context())
	}
	return serverRoom(s.Context())
}

// HasRoom reports whether SendMsg would accept a message without waiting. It returns true if that is not known.
func HasRoom(s Stream) bool {
	r := of(s)
	return r == nil || r(nil)
}

// WaitForRoom waits until SendMsg would accept a message without waiting, or until the RPC is over, which
// SendMsg then reports. If ctx ends first, the error is ctx's cause.
func WaitForRoom(ctx context.Context, s Stream) error {
	r := of(s)
	if r == nil {
		return nil
	}
	return r.wait(ctx, s.Context())
}

func (r room) wait(ctx, rpc context.Context) error {
	w := make(waker, 1)
	for !r(w) {
		select {
		case <-w:
		case <-rpc.Done():
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// waker has one value if it has been woken.
type waker chan struct{}

// Wake implements handover.Waker.
func (w waker) Wake() {
	select {
	case w <- struct{}{}:
	default:
	}
}

var errNotRead = status.Error(codes.ResourceExhausted, "the peer has not read what was sent to it for too long")

// waitFor is wait with a limit of d. Without one SendMsg waits, as always.
func (r room) waitFor(rpc context.Context, d time.Duration) error {
	if d <= 0 || r == nil || r(nil) {
		return nil
	}
	ctx, cancel := context.WithTimeout(rpc, d)
	defer cancel()
	if r.wait(ctx, rpc) != nil && rpc.Err() == nil {
		return errNotRead
	}
	return nil // if the RPC is over, SendMsg says so
}

// MaxSendWait returns a ServerOption that limits how long each Send of a server's streams may wait for its client.
// 0 and below mean no limit.
func MaxSendWait(d time.Duration) grpc.ServerOption {
	return grpc.ChainStreamInterceptor(func(srv any, st grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
		s := &boundServer{ServerStream: st, most: d}
		err := next(srv, s)
		if s.notRead.Load() {
			return errNotRead // whatever the handler returned
		}
		return err
	})
}

// boundServer is a server's stream whose Send waits for no longer than most.
type boundServer struct {
	grpc.ServerStream
	most    time.Duration
	notRead atomic.Bool // a Send has failed with errNotRead, as all others do from then on
}

func (s *boundServer) SendMsg(m any) error {
	if s.notRead.Load() {
		return errNotRead
	}
	if serverRoom(s.Context()).waitFor(s.Context(), s.most) != nil {
		s.notRead.Store(true)
		return errNotRead
	}
	return s.ServerStream.SendMsg(m)
}

// MaxEndWait returns a ServerOption that limits how long a client may read nothing of a stream whose handler has
// returned. 0 and below mean no limit.
func MaxEndWait(d time.Duration) grpc.ServerOption { return endWait{wait: d} }

// endWait is an option that package grpc recognises by its method.
type endWait struct {
	grpc.EmptyServerOption
	wait time.Duration
}

func (o endWait) ServerEndWait() time.Duration { return o.wait }

// WithMaxSendWait returns a DialOption that limits how long each SendMsg may wait for its server. It applies to
// those streams of a channel on which the client may send more than one message. 0 and below mean no limit.
func WithMaxSendWait(d time.Duration) grpc.DialOption {
	return grpc.WithChainStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, next grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
		st, err := next(ctx, desc, cc, method, opts...)
		if err != nil || !desc.ClientStreams {
			return st, err
		}
		return &boundClient{ClientStream: st, most: d}, nil
	})
}

// boundClient is a client's stream whose SendMsg waits for no longer than most.
type boundClient struct {
	grpc.ClientStream
	most time.Duration
}

func (c *boundClient) SendMsg(m any) error {
	ctx := c.Context()
	if err := roomOf(ctx).waitFor(ctx, c.most); err != nil {
		if s, ok := ctx.Value(ctxkey.ClientRoom{}).(handover.Client); ok {
			s.Fail(err)
		}
		return err
	}
	return c.ClientStream.SendMsg(m)
}
