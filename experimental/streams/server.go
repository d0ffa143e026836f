// SPDX-License-Identifier: Apache-2.0

package streams

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/handover"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// ServerCallbacks are what a server is told of streams that were handed over. Any of them may
// be nil. They are called one at a time for a stream, in the order of what happened, each on
// whatever goroutine; none before the handler has returned. They may block, which holds a
// goroutine, but no other stream.
//
// One value may serve any number of streams: each call says which stream it is for.
type ServerCallbacks[Req, Res any] struct {
	// OnMessage brings a message, which belongs to the callback. It is not called for the
	// one request of a method whose client does not stream, which the handler has.
	OnMessage func(s *Server[Req, Res], m *Req)
	// OnHalfClose says that the client has sent its last message. It is not called where the
	// client does not stream.
	OnHalfClose func(s *Server[Req, Res])
	// OnReady says that there is room again, after Send or TrySend met none; what
	// waited in the queue is sent.
	OnReady func(s *Server[Req, Res])
	// OnDone is the last call, for every stream that was handed over. err is nil if the RPC
	// ended with Finish(nil), and else a status: what Finish, the handler or an interceptor
	// gave; codes.Canceled, DeadlineExceeded, or Unavailable if the client cancelled, the
	// deadline passed, or the connection was lost; what else made the RPC fail.
	OnDone func(s *Server[Req, Res], err error)
}

// Server is a server's end of an RPC that was handed over. Its methods may be called by any
// goroutine, also after the end of the RPC.
type Server[Req, Res any] struct {
	core   core
	stream grpc.ServerStream
	base   handover.Server
	calls  *ServerCallbacks[Req, Res]
}

// None stands for the requests of methods whose clients do not stream.
type None struct{}

// ServerStreaming hands over the stream of a method whose server streams: see [HandOver].
func ServerStreaming[Res any](stream grpc.ServerStreamingServer[Res], calls *ServerCallbacks[None, Res], opts *Options) (*Server[None, Res], error) {
	return HandOver(stream, calls, opts)
}

// ClientStreaming hands over the stream of a method whose client streams: see [HandOver]. The
// response is sent with Send, before Finish.
func ClientStreaming[Req, Res any](stream grpc.ClientStreamingServer[Req, Res], calls *ServerCallbacks[Req, Res], opts *Options) (*Server[Req, Res], error) {
	return HandOver(stream, calls, opts)
}

// Bidi hands over the stream of a method that streams both ways: see [HandOver].
func Bidi[Req, Res any](stream grpc.BidiStreamingServer[Req, Res], calls *ServerCallbacks[Req, Res], opts *Options) (*Server[Req, Res], error) {
	return HandOver(stream, calls, opts)
}

// HandOver takes the stream of a handler over. It is for the handler to call, which then
// returns nil; from there on the RPC lives without a goroutine, until Finish or until it
// fails. If the handler, or an interceptor, returns an error instead, the RPC ends with that.
// In either case OnDone is called in the end, once.
//
// The stream may be one that interceptors have wrapped, as long as its Context derives from
// that of the RPC. Nobody but the Server may use it any more. calls and opts may be nil.
//
// An error is a status, and the stream then is still the handler's: codes.Unimplemented if
// stream is none of this module's.
func HandOver[Req, Res any](stream grpc.ServerStream, calls *ServerCallbacks[Req, Res], opts *Options) (*Server[Req, Res], error) {
	base, ok := stream.Context().Value(handover.Key{}).(handover.Server)
	if !ok {
		return nil, status.Error(codes.Unimplemented, "streams: the stream's context is that of no streaming RPC")
	}
	if opts == nil {
		opts = &defaults
	}
	if calls == nil {
		calls = new(ServerCallbacks[Req, Res])
	}
	s := &Server[Req, Res]{stream: stream, base: base, calls: calls}
	s.core.side, s.core.opts, s.core.plain = (*serverSide[Req, Res])(s), opts, base.IsPlain(stream)
	if err := base.HandOver(&s.core); err != nil {
		return nil, err
	}
	return s, nil
}

// Context is the context of the RPC. It ends with it.
func (s *Server[Req, Res]) Context() context.Context { return s.stream.Context() }

// SetHeader adds to the metadata that is sent first, as that of grpc.ServerStream does.
func (s *Server[Req, Res]) SetHeader(md metadata.MD) error { return s.stream.SetHeader(md) }

// SendHeader sends the metadata that is sent first, as that of grpc.ServerStream does.
func (s *Server[Req, Res]) SendHeader(md metadata.MD) error { return s.stream.SendHeader(md) }

// SetTrailer adds to the metadata that is sent with the status. It is to be called before
// Finish.
func (s *Server[Req, Res]) SetTrailer(md metadata.MD) { s.stream.SetTrailer(md) }

// Send sends m, or has it wait in the queue if there is no room; see Options for what happens
// when that is full. It never waits. m must not be changed afterwards. The error is ErrNoRoom,
// ErrEnding, or a status that has ended the RPC.
func (s *Server[Req, Res]) Send(m *Res) error { return s.core.send(m, queued) }

// TrySend sends m if there is room, and nothing waits in the queue. Else the error is ErrNoRoom,
// and m was not sent.
func (s *Server[Req, Res]) TrySend(m *Res) error { return s.core.send(m, atOnce) }

// SendShared is Send for a message that many streams send.
func (s *Server[Req, Res]) SendShared(m *Shared[Res]) error { return s.core.send(m, queued) }

// Finish ends the RPC as a handler does that returns err, behind all messages that were sent
// or wait. The error is ErrEnding, or what the RPC has ended with otherwise.
func (s *Server[Req, Res]) Finish(err error) error { return s.core.finish(asStatus(err)) }

// asStatus is err as an error that has a status; nil is nil.
func asStatus(err error) error {
	if _, ok := status.FromError(err); ok {
		return err
	}
	return status.FromContextError(err).Err()
}

// serverSide is a Server as its core sees it.
type serverSide[Req, Res any] Server[Req, Res]

func (s *serverSide[Req, Res]) self() *Server[Req, Res] { return (*Server[Req, Res])(s) }

func (s *serverSide[Req, Res]) arm(input bool) handover.Events {
	return s.base.Arm(&s.core, input)
}

func (s *serverSide[Req, Res]) receive() (more bool) {
	m := new(Req)
	err := s.stream.RecvMsg(m)
	s.core.inputOver = err != nil
	switch {
	case err == nil:
		if f := s.calls.OnMessage; f != nil {
			f(s.self(), m)
		}
	case !errors.Is(err, io.EOF):
		s.core.fail(asStatus(err))
	case s.calls.OnHalfClose != nil:
		s.calls.OnHalfClose(s.self())
	}
	return true
}

func (s *serverSide[Req, Res]) ready() {
	if f := s.calls.OnReady; f != nil {
		f(s.self())
	}
}

func (s *serverSide[Req, Res]) over(err error) {
	defer s.base.Done(err) // also if the callback panics
	if f := s.calls.OnDone; f != nil {
		f(s.self(), err)
	}
}

func (s *serverSide[Req, Res]) room(lazy bool) bool { return s.base.ArmRoom(&s.core, lazy) }

func (s *serverSide[Req, Res]) transmit(m any) error {
	if shared, ok := m.(*Shared[Res]); ok {
		prepared, err := shared.forStream(s.base)
		if err != nil {
			return err
		}
		m = prepared
	}
	return s.stream.SendMsg(m)
}

func (s *serverSide[Req, Res]) offer(m any, more int) (taken bool, err error) {
	if shared, ok := m.(*Shared[Res]); ok && s.core.plain {
		if prepared, err := shared.forStream(s.base); err == nil {
			return s.base.Offer(prepared, &s.core, more)
		}
	}
	if !s.room(more > 0) {
		return false, nil
	}
	return true, s.transmit(m)
}

func (s *serverSide[Req, Res]) end(err error) error { return s.base.Finish(err) }

func (s *serverSide[Req, Res]) fate() error { return s.base.Fate() }
