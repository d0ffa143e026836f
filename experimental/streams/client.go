// SPDX-License-Identifier: Apache-2.0

package streams

import (
	"io"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/internal/handover"
	"google.golang.org/grpc/internal/warm"
	"google.golang.org/grpc/metadata"
)

// ClientCallbacks are called when something happens to a client's streams. Any of them may be nil. For
// one stream they are called one at a time, in the order of the events, each on any goroutine. A
// callback may block: it then holds a goroutine, but no other stream.
//
// One value may serve any number of streams: each callback is given its stream.
type ClientCallbacks[Req, Res any] struct {
	// OnMessage is called with each message. It owns m.
	OnMessage func(c *Client[Req, Res], m *Res)
	// OnReady is called when there is room again, after a message was refused or dropped for lack of it. By then the
	// messages that waited in the queue have been sent.
	OnReady func(c *Client[Req, Res])
	// OnDone is the last call. err is nil if the RPC ended with success, and otherwise its status.
	OnDone func(c *Client[Req, Res], err error)
}

// Client is a client's end of an RPC. Several goroutines may call its methods at the same time, also
// after the end of the RPC.
type Client[Req, Res any] struct {
	core   core
	stream grpc.ClientStream
	begun  atomic.Value // has a handover.Client; an interceptor that begins the RPC anew replaces it
	calls  *ClientCallbacks[Req, Res]
}

// OpenServerStreaming begins an RPC whose server streams. See [Open].
func OpenServerStreaming[Res any](calls *ClientCallbacks[None, Res], opts *Options, begin func(grpc.CallOption) (grpc.ServerStreamingClient[Res], error)) (*Client[None, Res], error) {
	return Open(calls, opts, func(o grpc.CallOption) (grpc.ClientStream, error) { return begin(o) })
}

// OpenClientStreaming begins an RPC whose client streams. See [Open].
func OpenClientStreaming[Req, Res any](calls *ClientCallbacks[Req, Res], opts *Options, begin func(grpc.CallOption) (grpc.ClientStreamingClient[Req, Res], error)) (*Client[Req, Res], error) {
	return Open(calls, opts, func(o grpc.CallOption) (grpc.ClientStream, error) { return begin(o) })
}

// OpenBidi begins an RPC that streams both ways. See [Open].
func OpenBidi[Req, Res any](calls *ClientCallbacks[Req, Res], opts *Options, begin func(grpc.CallOption) (grpc.BidiStreamingClient[Req, Res], error)) (*Client[Req, Res], error) {
	return Open(calls, opts, func(o grpc.CallOption) (grpc.ClientStream, error) { return begin(o) })
}

// Open begins an RPC that has no goroutine. begin must call the method of the generated client, and pass
// it the CallOption that begin is given. Callbacks may be called before Open returns. Only the Client
// may use the stream that begin returns. calls and opts may be nil.
//
//	watch, err := streams.OpenServerStreaming(calls, nil, func(o grpc.CallOption) (grpc.ServerStreamingClient[pb.Event], error) {
//		return client.Watch(ctx, req, o)
//	})
//
// The RPC is retried as any other. It ends when the server ends it, with its context, or with the
// channel, and OnDone is then called. If begin returns an error, Open returns that error, and no
// callback is called. If an interceptor did not pass the option on, Open returns a status with
// codes.Unimplemented, and the caller has to cancel the context.
func Open[Req, Res any](calls *ClientCallbacks[Req, Res], opts *Options, begin func(grpc.CallOption) (grpc.ClientStream, error)) (*Client[Req, Res], error) {
	if opts == nil {
		opts = &defaults
	}
	if calls == nil {
		calls = new(ClientCallbacks[Req, Res])
	}
	c := &Client[Req, Res]{calls: calls}
	c.core.side, c.core.opts = (*clientSide[Req, Res])(c), opts
	stream, err := begin(heldOption[Req, Res]{c: c})
	switch {
	case err != nil:
		return nil, err
	case c.begun.Load() == nil:
		return nil, errNotHeld
	}
	c.stream = stream
	left := true
	defer func() {
		if left { // a codec, or a stats handler, has panicked or ended the goroutine: nobody else has the Client
			go c.core.abandon(errPanic) // the caller may hold a lock that OnDone takes
		}
	}()
	if c.core.side.arm(true) != 0 || !c.core.turn.Rest() {
		warm.Go(&c.core)
	}
	left = false
	return c, nil
}

// heldOption is an option that package grpc recognises by its methods.
type heldOption[Req, Res any] struct {
	grpc.EmptyCallOption
	c *Client[Req, Res]
}

// StreamBegun is called when the RPC has begun, and again when an interceptor begins it anew. Interceptors
// do that within a call of one of the stream's methods.
func (o heldOption[Req, Res]) StreamBegun(h handover.Client) { o.c.begun.Store(h) }

// NewMessage returns an empty message of the type that the stream receives.
func (o heldOption[Req, Res]) NewMessage() any { return new(Res) }

// Header waits for the metadata that the server sends first, and returns it. In OnMessage it does not
// wait. See grpc.ClientStream.
func (c *Client[Req, Res]) Header() (metadata.MD, error) { return c.stream.Header() }

// Trailer returns the metadata that the server sent last. It may be called in OnDone and later.
func (c *Client[Req, Res]) Trailer() metadata.MD { return c.stream.Trailer() }

// Send sends m. If there is no room, m waits in the queue; Options say what happens if that is full.
// Send never waits, unless the RPC has to be tried again. The caller must not change m afterwards. The
// error is ErrNoRoom, ErrEnding, or io.EOF if the RPC is over: OnDone is told how. Any other error is a
// status that the RPC has ended with.
func (c *Client[Req, Res]) Send(m *Req) error { return c.core.send(m, queued) }

// TrySend sends m if there is room and nothing waits in the queue. Otherwise it returns ErrNoRoom, and m is
// not sent.
func (c *Client[Req, Res]) TrySend(m *Req) error { return c.core.send(m, atOnce) }

// SendShared is like Send, for a message that many streams send.
func (c *Client[Req, Res]) SendShared(m *Shared[Req]) error { return c.core.send(m, queued) }

// CloseSend says that no message follows those that have been sent or wait in the queue.
func (c *Client[Req, Res]) CloseSend() error { return c.core.finish(nil) }

// clientSide implements side for a Client.
type clientSide[Req, Res any] Client[Req, Res]

func (c *clientSide[Req, Res]) self() *Client[Req, Res] { return (*Client[Req, Res])(c) }

func (c *clientSide[Req, Res]) current() handover.Client { return c.begun.Load().(handover.Client) }

func (c *clientSide[Req, Res]) arm(bool) handover.Events { return c.current().Arm(&c.core) }

func (c *clientSide[Req, Res]) receive() (more bool) {
	m := new(Res)
	err := c.stream.RecvMsg(m)
	if err == nil {
		if f := c.calls.OnMessage; f != nil {
			f(c.self(), m)
		}
		return true
	}
	if err == io.EOF {
		err = nil
	} else {
		err = asStatus(err)
		c.current().Fail(err) // in case the error is an interceptor's, and the RPC goes on
	}
	c.core.mu.Lock()
	c.core.stage, c.core.last = ended, io.EOF
	c.core.queue = nil
	c.core.mu.Unlock()
	c.core.leave(err)
	return false
}

func (c *clientSide[Req, Res]) ready() {
	if f := c.calls.OnReady; f != nil {
		f(c.self())
	}
}

func (c *clientSide[Req, Res]) over(err error) {
	if f := c.calls.OnDone; f != nil {
		f(c.self(), err)
	}
}

func (c *clientSide[Req, Res]) room(bool) bool { return c.current().ArmRoom(&c.core) }

func (c *clientSide[Req, Res]) transmit(m any) error {
	if shared, ok := m.(*Shared[Req]); ok {
		prepared, err := shared.forStream(c.current())
		if err != nil {
			return err
		}
		m = prepared
	}
	return sendError(c.stream.SendMsg(m))
}

// sendError returns err, of a method that sends, as what a Client returns: io.EOF, or an error that has a status.
func sendError(err error) error {
	if err == io.EOF {
		return err
	}
	return asStatus(err)
}

func (c *clientSide[Req, Res]) offer(m any, _ int) (taken bool, err error) {
	if !c.room(false) {
		return false, nil
	}
	return true, c.transmit(m)
}

func (c *clientSide[Req, Res]) goesOn() bool { return true }

func (c *clientSide[Req, Res]) end(err error) error {
	switch {
	case err == nil:
		err = sendError(c.stream.CloseSend())
		if err != nil && err != io.EOF {
			c.current().Fail(err) // an interceptor's error: the server would wait for the end
		}
		return err
	case err != io.EOF: // otherwise the RPC is over, and RecvMsg says how
		c.current().Fail(err)
	}
	return nil
}

func (c *clientSide[Req, Res]) fate() error { return nil }

func (c *clientSide[Req, Res]) late() error { return nil } // only a server is told Late
