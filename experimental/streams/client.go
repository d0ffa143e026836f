// SPDX-License-Identifier: Apache-2.0

package streams

import (
	"errors"
	"io"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/internal/handover"
	"google.golang.org/grpc/internal/warm"
	"google.golang.org/grpc/metadata"
)

// ClientCallbacks are what a client is told of its streams. Any of them may be nil. They are
// called one at a time for a stream, in the order of what happened, each on whatever
// goroutine. They may block, which holds a goroutine, but no other stream.
//
// One value may serve any number of streams: each call says which stream it is for.
type ClientCallbacks[Req, Res any] struct {
	// OnMessage brings a message, which belongs to the callback.
	OnMessage func(c *Client[Req, Res], m *Res)
	// OnReady says that there is room again, after Send or TrySend met none; what
	// waited in the queue is sent.
	OnReady func(c *Client[Req, Res])
	// OnDone is the last call. err is nil if the RPC ended with success, and else its status.
	OnDone func(c *Client[Req, Res], err error)
}

// Client is a client's end of an RPC. Its methods may be called by any goroutine, also after
// the end of the RPC.
type Client[Req, Res any] struct {
	core   core
	stream grpc.ClientStream
	begun  atomic.Value // a handover.Client: which another may replace that an interceptor begins
	calls  *ClientCallbacks[Req, Res]
}

// OpenServerStreaming begins an RPC whose server streams: see [Open].
func OpenServerStreaming[Res any](calls *ClientCallbacks[None, Res], opts *Options, begin func(grpc.CallOption) (grpc.ServerStreamingClient[Res], error)) (*Client[None, Res], error) {
	return Open(calls, opts, func(o grpc.CallOption) (grpc.ClientStream, error) { return begin(o) })
}

// OpenClientStreaming begins an RPC whose client streams: see [Open].
func OpenClientStreaming[Req, Res any](calls *ClientCallbacks[Req, Res], opts *Options, begin func(grpc.CallOption) (grpc.ClientStreamingClient[Req, Res], error)) (*Client[Req, Res], error) {
	return Open(calls, opts, func(o grpc.CallOption) (grpc.ClientStream, error) { return begin(o) })
}

// OpenBidi begins an RPC that streams both ways: see [Open].
func OpenBidi[Req, Res any](calls *ClientCallbacks[Req, Res], opts *Options, begin func(grpc.CallOption) (grpc.BidiStreamingClient[Req, Res], error)) (*Client[Req, Res], error) {
	return Open(calls, opts, func(o grpc.CallOption) (grpc.ClientStream, error) { return begin(o) })
}

// Open begins an RPC that has no goroutine: begin calls the method of the generated client,
// with the CallOption it is given among its own. Callbacks may be called before Open returns.
// Nobody may use what begin returned but the Client. calls and opts may be nil.
//
//	watch, err := streams.OpenServerStreaming(calls, nil, func(o grpc.CallOption) (grpc.ServerStreamingClient[pb.Event], error) {
//		return client.Watch(ctx, req, o)
//	})
//
// The RPC is retried as any other. It ends, and OnDone is called, as the server says, with the
// context, or with the channel. An error is what begin returned; no callback follows then. If
// an interceptor has not passed the option on the error is a status, codes.Unimplemented, and
// the caller has to cancel the context.
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
	if c.core.side.arm(true) != 0 || !c.core.turn.Rest() {
		warm.Go(&c.core)
	}
	return c, nil
}

// heldOption is known to package grpc by its methods.
type heldOption[Req, Res any] struct {
	grpc.EmptyCallOption
	c *Client[Req, Res]
}

// StreamBegun is called when the RPC begins, and again when an interceptor begins it anew, which
// it does in a call of the stream's methods.
func (o heldOption[Req, Res]) StreamBegun(h handover.Client) { o.c.begun.Store(h) }

// NewMessage returns an empty message of the type that is received.
func (o heldOption[Req, Res]) NewMessage() any { return new(Res) }

// Header waits for the metadata that the server sends first, and returns it; in OnMessage it
// does not wait. See grpc.ClientStream.
func (c *Client[Req, Res]) Header() (metadata.MD, error) { return c.stream.Header() }

// Trailer returns the metadata that the server sent last. It is for OnDone, and later.
func (c *Client[Req, Res]) Trailer() metadata.MD { return c.stream.Trailer() }

// Send sends m, or has it wait in the queue if there is no room; see Options for what happens
// when that is full. It never waits, unless the RPC has to be tried again. m must not be
// changed afterwards. The error is ErrNoRoom, ErrEnding, or io.EOF if the RPC is over: OnDone
// tells how. Any other error is a status, which the RPC has ended with.
func (c *Client[Req, Res]) Send(m *Req) error { return c.core.send(m, queued) }

// TrySend sends m if there is room, and nothing waits in the queue. Else the error is
// ErrNoRoom, and m was not sent.
func (c *Client[Req, Res]) TrySend(m *Req) error { return c.core.send(m, atOnce) }

// SendShared is Send for a message that many streams send.
func (c *Client[Req, Res]) SendShared(m *Shared[Req]) error { return c.core.send(m, queued) }

// CloseSend says that no message follows those that were sent or wait.
func (c *Client[Req, Res]) CloseSend() error { return c.core.finish(nil) }

// clientSide is a Client as its core sees it.
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
	if errors.Is(err, io.EOF) {
		err = nil
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
	return c.stream.SendMsg(m)
}

func (c *clientSide[Req, Res]) offer(m any, _ int) (taken bool, err error) {
	if !c.room(false) {
		return false, nil
	}
	return true, c.transmit(m)
}

func (c *clientSide[Req, Res]) end(err error) error {
	switch {
	case err == nil:
		return c.stream.CloseSend()
	case !errors.Is(err, io.EOF): // else it is over, and receiving tells how
		c.current().Fail(err)
	}
	return nil
}

func (c *clientSide[Req, Res]) fate() error { return nil }
