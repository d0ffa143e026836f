// SPDX-License-Identifier: Apache-2.0

// Package flowcontrol bounds how long streams wait for a peer that does not read.
//
// A Send takes a message while about 64 to 128 KiB of the stream wait to be sent, and then waits until
// the peer has read some, for as long as the RPC lasts. A handler without a deadline so waits for
// ever, and so does a stream whose handler has returned: it keeps its place under
// MaxConcurrentStreams, and its memory.
//
//	server := grpc.NewServer(flowcontrol.MaxSendWait(10*time.Second), flowcontrol.MaxEndWait(10*time.Second))
//
// # Semantics
//
//   - [HasRoom] says whether Send would take a message without waiting; [WaitForRoom] waits until it
//     would, no longer than a context lasts. If it does not, the stream is as it was: the
//     program may send something else, or nothing.
//   - [MaxSendWait], of a server, and [WithMaxSendWait], of a channel, bound each Send of each stream.
//     One that has waited for so long fails with code ResourceExhausted, and so does the RPC: no
//     message is sent after it, as one is missing. A handler gets the error from Send, a client from
//     SendMsg and RecvMsg.
//   - [MaxEndWait], of a server, is for streams whose handler has returned, and for unary replies: if
//     the client takes nothing of what is left for that long, the stream is reset with CANCEL, and
//     its place and memory are free. A client that reads slowly, but does, is not cut off.
//     A stream that waits is not kept alive by that: one that is reset, or whose connection is lost, is
//     forgotten at once.
//
// By default nothing is bound, as in the published module.
//
// # Edges
//
//   - Interceptors: streams may be wrapped, if their Context derives from the RPC's. The bound of
//     MaxSendWait stands where the option stands among the interceptors of grpc.ChainStreamInterceptor.
//   - Retries: a client's stream is not retried any more once HasRoom or WaitForRoom was asked about
//     it, as with ClientStream.Context; with WithMaxSendWait from its first Send on. Call them after
//     Header or RecvMsg. A hedged stream has room until one attempt counts.
//   - Streams that were handed over (package experimental/streams) never wait: TrySend and OnReady are
//     the same there. MaxEndWait holds for them once OnDone has returned.
//   - Behind ServeHTTP net/http waits, and does not tell: there always is room, and nothing is bound;
//     http.Server.WriteTimeout and the like hold there.
//   - bufconn, unix sockets, TLS: as with TCP, as windows are HTTP/2's. With package xds give the options
//     to xds.NewGRPCServer, and to the channel as to any.
//   - Room is of the stream and its connection: many streams that are not read share the bound of a
//     connection's send queue. A Send may be made by one goroutine at a time, as always; so may these.
//   - A stream with MaxSendWait is wrapped, which a streams.Group takes a slower way for.
//
// All of this may change or go in a later release.
package flowcontrol

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/ctxkey"
	"google.golang.org/grpc/internal/handover"
	"google.golang.org/grpc/status"
)

// Stream is a grpc.ServerStream or a grpc.ClientStream, or one of generated code.
type Stream interface {
	Context() context.Context
	SendMsg(m any) error
}

// room is asked whether a stream has some. w is woken when it has, if it has none.
type room func(w handover.Waker) bool

// roomOf returns nil for a stream of somebody else's.
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

// of returns nil where nobody knows.
func of(s Stream) room {
	if _, client := s.(interface{ CloseSend() error }); client {
		return roomOf(s.Context())
	}
	return serverRoom(s.Context())
}

// HasRoom reports whether SendMsg would take a message without waiting; also where that is not known.
func HasRoom(s Stream) bool {
	r := of(s)
	return r == nil || r(nil)
}

// WaitForRoom waits until SendMsg would take a message without waiting, or the RPC is over, which
// SendMsg then tells. If ctx ends first the error is its cause.
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
			r(nil)
			return context.Cause(ctx)
		}
	}
	return nil
}

// waker has one value when it was woken.
type waker chan struct{}

// Wake implements handover.Waker.
func (w waker) Wake() {
	select {
	case w <- struct{}{}:
	default:
	}
}

var errNotRead = status.Error(codes.ResourceExhausted, "the peer has not read what was sent to it for too long")

// waitFor is wait for a time.
func (r room) waitFor(rpc context.Context, d time.Duration) error {
	if r == nil || r(nil) {
		return nil
	}
	ctx, cancel := context.WithTimeout(rpc, d)
	defer cancel()
	if r.wait(ctx, rpc) != nil && rpc.Err() == nil {
		return errNotRead
	}
	return nil // SendMsg tells
}

// MaxSendWait bounds how long each Send of a server's streams may wait for its client.
func MaxSendWait(d time.Duration) grpc.ServerOption {
	return grpc.ChainStreamInterceptor(func(srv any, st grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
		s := &boundServer{ServerStream: st, most: d}
		err := next(srv, s)
		if s.err != nil {
			return s.err // whatever the handler makes of it
		}
		return err
	})
}

// boundServer is a server's stream whose Send does not wait for longer than most.
type boundServer struct {
	grpc.ServerStream
	most time.Duration
	err  error // owned by the one who sends
}

func (s *boundServer) SendMsg(m any) error {
	if s.err == nil {
		s.err = serverRoom(s.Context()).waitFor(s.Context(), s.most)
	}
	if s.err != nil {
		return s.err
	}
	return s.ServerStream.SendMsg(m)
}

// MaxEndWait bounds how long a client may read nothing of a stream whose handler has returned.
func MaxEndWait(d time.Duration) grpc.ServerOption { return endWait{wait: d} }

// endWait is known to package grpc by its method.
type endWait struct {
	grpc.EmptyServerOption
	wait time.Duration
}

func (o endWait) ServerEndWait() time.Duration { return o.wait }

// WithMaxSendWait bounds how long each SendMsg of a channel's streams may wait for its server.
func WithMaxSendWait(d time.Duration) grpc.DialOption {
	return grpc.WithChainStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, next grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
		st, err := next(ctx, desc, cc, method, opts...)
		if err != nil || !desc.ClientStreams {
			return st, err
		}
		return &boundClient{ClientStream: st, most: d}, nil
	})
}

// boundClient is a client's stream whose SendMsg does not wait for longer than most.
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
