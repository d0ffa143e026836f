// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/wrappers"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
)

// A wrapper's Write may sleep for as long as it likes, as those that limit rates do. It holds
// nobody but whoever writes.

// valve is what Writes pass through. While it is shut they sleep, and closing their connection
// does not wake them.
type valve struct {
	mu     sync.Mutex
	opened chan struct{} // nil: it is open
	begun  chan struct{} // has a token after a Write began to sleep
}

func newValve(t *testing.T) *valve {
	v := &valve{begun: make(chan struct{}, 1)}
	t.Cleanup(v.open)
	return v
}

func (v *valve) shut() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.opened = make(chan struct{})
	select {
	case <-v.begun:
	default:
	}
}

func (v *valve) open() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.opened != nil {
		close(v.opened)
		v.opened = nil
	}
}

func (v *valve) pass() {
	v.mu.Lock()
	opened := v.opened
	v.mu.Unlock()
	if opened == nil {
		return
	}
	select {
	case v.begun <- struct{}{}:
	default:
	}
	<-opened
}

// valved is a connection with a valve.
type valved struct {
	net.Conn
	valve *valve
}

func (c *valved) Read(p []byte) (int, error) { return c.Conn.Read(p) }

func (c *valved) Write(p []byte) (int, error) {
	c.valve.pass()
	return c.Conn.Write(p)
}

// A client whose writes sleep: RPCs end at their deadlines and when they are cancelled, what the
// server sends arrives, and Close ends all.
func TestSleepingWriteHoldsNoClient(t *testing.T) {
	news := make(chan string)
	e := newEcho()
	e.stream = func(ss ServerStream) error {
		for {
			select {
			case s := <-news:
				if err := ss.SendMsg(&text{Value: s}); err != nil {
					return err
				}
			case <-ss.Context().Done():
				return ss.Context().Err()
			}
		}
	}
	v := newValve(t)
	cc, _ := wrappedPair(t, e, asIs, func(c net.Conn) net.Conn { return &valved{c, v} })
	ctx := testContext(t)
	down, err := cc.NewStream(ctx, &StreamDesc{ServerStreams: true}, "/test.Echo/Down")
	if err == nil {
		err = down.CloseSend()
	}
	if err != nil {
		t.Fatal(err)
	}
	recv := func(want string) {
		t.Helper()
		select {
		case news <- want:
		case <-ctx.Done():
			t.Fatal("the server's handler does not run")
		}
		m := new(text)
		if err := down.RecvMsg(m); err != nil || m.Value != want {
			t.Fatalf("%v, %v", m, err)
		}
	}
	recv("before")
	v.shut()

	ended := make(chan error)
	cancelled, cancel := context.WithCancel(ctx)
	go func() { ended <- call(cancelled, cc, "x") }()
	within(t, v.begun, "Write")
	cancel()
	if err := within(t, ended, "the end of the call that writes"); status.Code(err) != codes.Canceled {
		t.Errorf("cancelled while it writes: %v", err)
	}
	brief, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	if err := call(brief, cc, "x"); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("at its deadline: %v", err)
	}
	cancelled, cancel = context.WithCancel(ctx)
	go func() { ended <- call(cancelled, cc, "x") }()
	cancel()
	if err := within(t, ended, "the end of a call that was cancelled"); status.Code(err) != codes.Canceled {
		t.Errorf("cancelled: %v", err)
	}
	recv("meanwhile")

	go func() { ended <- call(ctx, cc, "x") }()
	go cc.Close()
	if err := within(t, ended, "the end of a call at Close"); status.Code(err) != codes.Canceled {
		t.Errorf("at Close: %v", err)
	}
	if err := down.RecvMsg(new(text)); status.Code(err) != codes.Canceled {
		t.Errorf("a stream at Close: %v", err)
	}
}

// A server whose writes sleep: what clients send arrives, handlers run and hear of cancelled
// RPCs, and Stop does not wait.
func TestSleepingWriteHoldsNoServer(t *testing.T) {
	e := newEcho()
	served := make(chan string, 10)
	e.unary = func(ctx context.Context, m *text) (*text, error) {
		served <- m.Value
		if m.Value == "waits" {
			<-ctx.Done()
			served <- "cancelled"
		}
		return m, nil
	}
	e.stream = func(ss ServerStream) error {
		for m := new(text); ; {
			if err := ss.RecvMsg(m); err != nil {
				return err
			}
			served <- m.Value
		}
	}
	v := newValve(t)
	cc, s := wrappedPair(t, e, func(c net.Conn) net.Conn { return &valved{c, v} }, asIs)
	ctx := testContext(t)
	wantServed := func(want string) {
		t.Helper()
		if got := within(t, served, want); got != want {
			t.Fatalf("served %q, want %q", got, want)
		}
	}
	up, err := cc.NewStream(ctx, &StreamDesc{ClientStreams: true}, "/test.Echo/Up")
	if err != nil {
		t.Fatal(err)
	}
	send := func(m string) {
		t.Helper()
		if err := up.SendMsg(&text{Value: m}); err != nil {
			t.Fatal(err)
		}
		wantServed(m)
	}
	send("before")
	v.shut()

	ended := make(chan error, 2)
	for _, m := range []string{"one", "two"} {
		go func() { ended <- call(ctx, cc, m) }()
		wantServed(m)
	}
	within(t, v.begun, "Write")
	send("meanwhile")
	cancelled, cancel := context.WithCancel(ctx)
	go func() { _ = call(cancelled, cc, "waits") }()
	wantServed("waits")
	cancel()
	wantServed("cancelled")
	v.open()
	for range 2 {
		if err := within(t, ended, "a reply"); err != nil {
			t.Error(err)
		}
	}

	v.shut()
	go func() { ended <- call(ctx, cc, "last") }()
	wantServed("last")
	within(t, v.begun, "Write")
	stopped := make(chan struct{})
	go func() {
		s.Stop()
		close(stopped)
	}()
	within(t, stopped, "Stop")
	if err := within(t, ended, "the end of a call at Stop"); status.Code(err) != codes.Unavailable {
		t.Errorf("at Stop: %v", err)
	}
}

// leaving counts the Writes of goroutines whose handler has returned.
type leaving struct {
	net.Conn
	n *atomic.Int64
}

func (c leaving) Read(p []byte) (int, error) { return c.Conn.Read(p) }

func (c leaving) Write(p []byte) (int, error) {
	stack := make([]byte, 16<<10)
	if strings.Contains(string(stack[:runtime.Stack(stack, false)]), ".Leave(") {
		c.n.Add(1)
	}
	return c.Conn.Write(p)
}

// The reply of a unary call is written by its handler's goroutine, through a wrapper as well.
func TestReplyIsWrittenInPlace(t *testing.T) {
	var n atomic.Int64
	cc, _ := wrappedPair(t, newEcho(), func(c net.Conn) net.Conn { return leaving{c, &n} }, asIs)
	ctx := testContext(t)
	const calls = 100
	for range calls {
		if err := call(ctx, cc, "x"); err != nil {
			t.Fatal(err)
		}
	}
	// Where the reader is about to write anything of its own it writes the reply along.
	if n := n.Load(); n < calls/2 {
		t.Errorf("%d of %d replies were written in place", n, calls)
	}
}

// untilReplied is a stats handler that waits at an RPC's end for the client to have the reply.
type untilReplied struct {
	stats.Handler
	replied <-chan struct{}
	timely  chan bool
}

func (h *untilReplied) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

func (h *untilReplied) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

func (h *untilReplied) HandleConn(context.Context, stats.ConnStats) {}

func (h *untilReplied) HandleRPC(_ context.Context, s stats.RPCStats) {
	if _, ends := s.(*stats.End); !ends {
		return
	}
	select {
	case <-h.replied:
		h.timely <- true
	case <-time.After(patience):
		h.timely <- false
	}
}

// A reply does not wait for those who watch the RPC.
func TestReplyPrecedesStats(t *testing.T) {
	for _, method := range []string{unaryMethod, bidiMethod} {
		replied := make(chan struct{})
		h := &untilReplied{replied: replied, timely: make(chan bool, 1)}
		cc, _ := wrappedPair(t, newEcho(), wrappers.Meter, asIs, StatsHandler(h))
		if err := cc.Invoke(testContext(t), method, &text{Value: "x"}, new(text)); err != nil {
			t.Error(method, err)
		}
		close(replied)
		if !within(t, h.timely, "the end of an RPC") {
			t.Errorf("%s: the client got no reply before stats handlers were told of the end", method)
		}
	}
}
