// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestCancelAtOnce: after cancel has returned no operation of the RPC succeeds, but what has arrived before can be
// received.
func TestCancelAtOnce(t *testing.T) {
	e := newEcho()
	e.stream = func(ss ServerStream) error {
		for range 3 {
			if err := ss.SendMsg(&text{Value: "m"}); err != nil {
				return err
			}
		}
		m := new(text)
		if err := ss.RecvMsg(m); err != nil || m.Value == "end" {
			return err
		}
		<-ss.Context().Done()
		return nil
	}
	cc := newTestClient(t, serve(t, e).addr)
	recv := func(s ClientStream) error { return s.RecvMsg(new(text)) }
	rest := func(s ClientStream) error { // two messages may have arrived
		_, _ = recv(s), recv(s)
		return recv(s)
	}
	send := func(s ClientStream) error { return s.SendMsg(&text{}) }
	closeSend := func(s ClientStream) error { // says nothing of the RPC's end
		if err := s.CloseSend(); err != nil {
			t.Errorf("CloseSend: %v", err)
		}
		return rest(s)
	}
	for name, op := range map[string]struct {
		run func(ClientStream) error
		eof bool // is as good as the status
	}{
		"RecvMsg":               {rest, false},
		"SendMsg":               {send, true},
		"RecvMsg and SendMsg":   {func(s ClientStream) error { _ = recv(s); return send(s) }, true},
		"SendMsg and RecvMsg":   {func(s ClientStream) error { _ = send(s); return rest(s) }, false},
		"CloseSend and RecvMsg": {closeSend, false},
		"CloseSend twice":       {func(s ClientStream) error { _ = closeSend(s); return closeSend(s) }, false},
	} {
		for _, first := range []string{"stay", "end"} {
			t.Run(name+", "+first, func(t *testing.T) {
				for range 20 {
					ctx, cancel := context.WithCancel(testContext(t))
					s, err := cc.NewStream(ctx, bidiStream, bidiMethod)
					if err != nil {
						t.Fatal(err)
					}
					if err := s.SendMsg(&text{Value: first}); err != nil {
						t.Fatal(err)
					}
					if err := recv(s); err != nil { // the others are there, or about to be
						t.Fatal(err)
					}
					cancel()
					ended := first == "end" // the server may have been faster
					if err := op.run(s); status.Code(err) != codes.Canceled && !((op.eof || ended) && err == io.EOF) {
						t.Fatalf("after cancel: %v", err)
					}
				}
			})
		}
	}
}

// TestCancelAfterEnd: an RPC that has ended is not ended again.
func TestCancelAfterEnd(t *testing.T) {
	cc := newTestClient(t, serve(t, newEcho()).addr)
	ctx, cancel := context.WithCancel(testContext(t))
	defer cancel()
	s, err := cc.NewStream(ctx, bidiStream, bidiMethod)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.CloseSend(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.RecvMsg(new(text)); err != io.EOF {
			t.Fatalf("RecvMsg: %v", err)
		}
		cancel()
	}
	if err := s.CloseSend(); err != nil {
		t.Errorf("CloseSend: %v", err)
	}
}

// late is a context that ends with err when end is called. It has a deadline that has passed then; if err is nil,
// it has that alone.
type late struct {
	context.Context
	end  context.CancelFunc
	err  error
	past atomic.Bool
}

func newLate(t *testing.T, err error) *late {
	l := &late{err: err}
	l.Context, l.end = context.WithCancel(testContext(t))
	return l
}

func (l *late) Deadline() (time.Time, bool) { return time.Unix(1, 0), l.past.Load() }

// Err implements context.Context.
func (l *late) Err() error {
	if l.Context.Err() == nil {
		return nil
	}
	return l.err
}

// TestLate: when the context of a stream has ended, what has come before can be received, and the server's status
// counts if that has come, too. What is not received leaves no buffer behind (TestMain).
func TestLate(t *testing.T) {
	own := status.Error(codes.Canceled, "the server's own")
	ownDeadline := status.Error(codes.DeadlineExceeded, "a deadline of the server's own")
	e := newEcho()
	e.stream = func(ss ServerStream) error {
		m := new(text)
		if err := ss.RecvMsg(m); err != nil {
			return err
		}
		for range 2 {
			if err := ss.SendMsg(&text{Value: strings.Repeat("m", 10_000)}); err != nil {
				return err
			}
		}
		switch m.Value {
		case "stay":
			<-ss.Context().Done()
		case "own":
			return own
		case "deadline":
			return ownDeadline
		}
		return nil
	}
	cc := newTestClient(t, serve(t, e).addr)
	for _, cause := range []error{context.Canceled, context.DeadlineExceeded, nil} {
		for says, want := range map[string]error{"stay": status.FromContextError(cause).Err(), "own": own, "deadline": ownDeadline, "OK": io.EOF} {
			for _, most := range []int{0, 1, 3} { // how often the client receives
				if cause == nil && says == "stay" {
					continue
				}
				receiveLate(t, cc, newLate(t, cause), says, want, most)
			}
		}
	}
}

func receiveLate(t *testing.T, cc *ClientConn, ctx *late, says string, want error, most int) {
	t.Helper()
	s, err := cc.NewStream(ctx, bidiStream, bidiMethod)
	if err != nil {
		t.Fatal(err)
	}
	defer ctx.end()
	if err := s.SendMsg(&text{Value: says}); err != nil {
		t.Fatal(err)
	}
	st := s.(*clientStream).current().Stream
	st.AwaitEnd() // or two messages
	waitUntil(t, "the end", func() bool { return says == "stay" || st.GotTrailers() })
	ctx.past.Store(ctx.err != context.Canceled)
	if ctx.err != nil {
		ctx.end()
	}
	for i := range most {
		err := s.RecvMsg(new(text))
		if i < 2 && err != nil || i == 2 && (err == nil || err.Error() != want.Error()) {
			t.Errorf("%v, %s, message %d: %v", ctx.err, says, i, err)
		}
	}
}

// TestAbortedAsCancelled: an RPC that is ended here with a status that contexts have, too, but whose context has not
// ended, brings nothing more, and ends with that status.
func TestAbortedAsCancelled(t *testing.T) {
	e := newEcho()
	e.stream = func(ss ServerStream) error { return ss.SendMsg(&text{Value: "unwanted"}) }
	s, err := newTestClient(t, serve(t, e).addr).NewStream(testContext(t), bidiStream, bidiMethod)
	if err != nil {
		t.Fatal(err)
	}
	cs := s.(*clientStream)
	waitUntil(t, "the end", cs.gotTrailers)
	want := status.Error(codes.Canceled, "full")
	cs.abort(want)
	if err := s.RecvMsg(new(text)); err == nil || err.Error() != want.Error() {
		t.Errorf("%v, want %v", err, want)
	}
}
