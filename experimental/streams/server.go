// SPDX-License-Identifier: Apache-2.0

package streams

import (
	"context"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/handover"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// ServerCallbacks are called when something happens to streams that were handed over. Any of them may
// be nil. For one stream they are called one at a time, in the order of the events, each on any
// goroutine, and none before the handler has returned. A callback may block: it then holds a goroutine,
// but no other stream.
//
// One value may serve any number of streams: each callback is given its stream.
type ServerCallbacks[Req, Res any] struct {
	// OnMessage is called with each message. It owns m. It is not called if the client does not
	// stream: the handler has the only request.
	OnMessage func(s *Server[Req, Res], m *Req)
	// OnHalfClose is called after the client's last message. It is not called if the client does
	// not stream.
	OnHalfClose func(s *Server[Req, Res])
	// OnReady is called when there is room again, after a message was refused or dropped for lack of it. By then the
	// messages that waited in the queue have been sent.
	OnReady func(s *Server[Req, Res])
	// OnDone is the last call, for every stream that was handed over. err is nil if the RPC ended
	// with Finish(nil), and otherwise a status: that of Finish, of the handler or of an
	// interceptor; codes.Canceled if the client cancelled; codes.DeadlineExceeded if the deadline
	// passed; codes.Unavailable if the connection was lost, which behind ServeHTTP may also be
	// codes.Canceled, as net/http does not tell these apart; or what else made the RPC fail.
	OnDone func(s *Server[Req, Res], err error)
}

// Server is a server's end of an RPC that was handed over. Several goroutines may call its methods at
// the same time, also after the end of the RPC.
type Server[Req, Res any] struct {
	core   core
	stream grpc.ServerStream
	base   handover.Server
	calls  *ServerCallbacks[Req, Res]
}

// None stands in for the request type of methods whose clients do not stream.
type None struct{}

// ServerStreaming hands over the stream of a method whose server streams. See [HandOver].
func ServerStreaming[Res any](stream grpc.ServerStreamingServer[Res], calls *ServerCallbacks[None, Res], opts *Options) (*Server[None, Res], error) {
	return HandOver(stream, calls, opts)
}

// ClientStreaming hands over the stream of a method whose client streams. See [HandOver]. Send the
// response with Send, before Finish.
func ClientStreaming[Req, Res any](stream grpc.ClientStreamingServer[Req, Res], calls *ServerCallbacks[Req, Res], opts *Options) (*Server[Req, Res], error) {
	return HandOver(stream, calls, opts)
}

// Bidi hands over the stream of a method that streams both ways. See [HandOver].
func Bidi[Req, Res any](stream grpc.BidiStreamingServer[Req, Res], calls *ServerCallbacks[Req, Res], opts *Options) (*Server[Req, Res], error) {
	return HandOver(stream, calls, opts)
}

// HandOver takes over the stream of a handler. The handler calls it, and then returns nil. From then on
// the RPC lives without a goroutine, until Finish or until it fails. If the handler, or an interceptor,
// returns an error instead, the RPC ends with that error. In every case OnDone is called once, at the
// end.
//
// Interceptors may have wrapped the stream, as long as its Context derives from that of the RPC. Only
// the Server may use the stream from then on. calls and opts may be nil.
//
// If HandOver returns an error, the stream still belongs to the handler. The error is a status:
// codes.Unimplemented if the stream is not one of this module.
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

// Context returns the context of the stream that was handed over. That is the RPC's, which ends with the RPC, unless an
// interceptor has put another one into the stream: one that the interceptor ends when it returns has ended by now.
func (s *Server[Req, Res]) Context() context.Context { return s.stream.Context() }

// SetHeader adds to the metadata that is sent first, as grpc.ServerStream's SetHeader does.
func (s *Server[Req, Res]) SetHeader(md metadata.MD) error { return s.stream.SetHeader(md) }

// SendHeader sends the metadata that is sent first, as grpc.ServerStream's SendHeader does.
func (s *Server[Req, Res]) SendHeader(md metadata.MD) error { return s.stream.SendHeader(md) }

// SetTrailer adds to the metadata that is sent with the status. Call it before Finish.
func (s *Server[Req, Res]) SetTrailer(md metadata.MD) { s.stream.SetTrailer(md) }

// Send sends m. If there is no room, m waits in the queue; Options say what happens if that is full.
// Send never waits. The caller must not change m afterwards. The error is ErrNoRoom, ErrEnding, or a
// status that has ended the RPC.
func (s *Server[Req, Res]) Send(m *Res) error { return s.core.send(m, queued) }

// TrySend sends m if there is room and nothing waits in the queue. Otherwise it returns ErrNoRoom, and m is
// not sent.
func (s *Server[Req, Res]) TrySend(m *Res) error { return s.core.send(m, atOnce) }

// SendShared is like Send, for a message that many streams send.
func (s *Server[Req, Res]) SendShared(m *Shared[Res]) error { return s.core.send(m, queued) }

// Finish ends the RPC as a handler does that returns err, after all messages that have been sent or wait.
// Its error is ErrEnding, or the error that the RPC has ended with before.
func (s *Server[Req, Res]) Finish(err error) error { return s.core.finish(asStatus(err)) }

// asStatus returns err as an error that has a status, and nil for nil.
func asStatus(err error) error {
	if _, ok := status.FromError(err); ok {
		return err
	}
	return status.FromContextError(err).Err()
}

// serverSide implements side for a Server.
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
	case err != io.EOF:
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
	return asStatus(s.stream.SendMsg(m))
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
	if more > 0 {
		defer s.base.EndLazy() // interceptors may drop m, send it later, or panic
	}
	return true, s.transmit(m)
}

func (s *serverSide[Req, Res]) end(err error) error { return s.base.Finish(err) }

func (s *serverSide[Req, Res]) goesOn() bool { return false }

func (s *serverSide[Req, Res]) fate() error { return s.base.Fate() }

func (s *serverSide[Req, Res]) late() error { return s.base.Late() }
