// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"fmt"
	"io"
	"math"
	"runtime"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
)

// exitingEnds is a stats handler that counts, and leaves for good at each End.
type exitingEnds struct {
	attemptCounter
	exit func()
}

func (e *exitingEnds) HandleRPC(ctx context.Context, s stats.RPCStats) {
	e.attemptCounter.HandleRPC(ctx, s)
	if _, ok := s.(*stats.End); ok {
		e.exit()
	}
}

// wantAllEnded checks that each attempt that began has ended, and that the RPC is over.
func (c *attemptCounter) wantAllEnded(t *testing.T, what string, cc *ClientConn) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.began == 0 || c.began != len(c.ends) {
		t.Errorf("%s: %d attempts began, ends %v", what, c.began, c.ends)
	}
	if n := cc.channel.RPCs(); n != 0 {
		t.Errorf("%s: %d RPCs go on", what, n)
	}
}

// TestHedgingThatExits: a stats handler leaves a hedged RPC when one of its attempts ends. The other attempts do not go
// on, and end before the RPC is left.
func TestHedgingThatExits(t *testing.T) {
	for name, exit := range exits {
		for what, script := range map[string]string{"with a winner": "hang hang ok", "without": "hang hang UNAVAILABLE"} {
			what = name + ", " + what
			a := newAnswers(script)
			e := newEcho()
			e.unary = a.unary
			c := &exitingEnds{exit: exit}
			cc := newTestClient(t, serve(t, e).addr, WithStatsHandler(c), WithDefaultServiceConfig(hedging(3, "0.001s", `"UNAVAILABLE"`, "")))
			left(t, what, func() { _ = call(testContext(t), cc, "x") })
			<-a.cancelled
			<-a.cancelled
			c.wantAllEnded(t, what, cc)
		}
	}
}

// TestHedgingWhoseCodecExits: a codec leaves a hedged RPC when it decodes the response of the attempt that counts, whose
// stream has not ended. The stream is reset.
func TestHedgingWhoseCodecExits(t *testing.T) {
	for name, exit := range exits {
		cancelled := make(chan struct{})
		e := newEcho()
		e.stream = func(ss ServerStream) error {
			m := new(text)
			if err := ss.RecvMsg(m); err != nil {
				return err
			}
			if err := ss.SendMsg(m); err != nil {
				return err
			}
			<-ss.Context().Done()
			close(cancelled)
			return nil
		}
		var c attemptCounter
		cc := newTestClient(t, serve(t, e).addr, WithStatsHandler(&c), WithDefaultServiceConfig(hedging(2, "3600s", "", "")))
		left(t, name, func() {
			codec := exitingCodec{encoding.GetCodecV2("proto"), exit, false}
			_ = cc.Invoke(testContext(t), bidiMethod, &text{Value: "x"}, new(text), ForceCodecV2(codec))
		})
		within(t, cancelled, name+": the server's context")
		c.wantAllEnded(t, name, cc)
		if len(c.ends) != 1 || c.ends[0] != codes.Internal {
			t.Errorf("%s: ends %v, want Internal", name, c.ends)
		}
	}
}

// exitingLeg is a stats handler that ends the goroutine at the OutHeader of attempt n, counted from 1.
type exitingLeg struct {
	attemptCounter
	n atomic.Int32
}

func (e *exitingLeg) HandleRPC(ctx context.Context, s stats.RPCStats) {
	e.attemptCounter.HandleRPC(ctx, s)
	if _, ok := s.(*stats.OutHeader); ok && e.n.Add(-1) == 0 {
		runtime.Goexit()
	}
}

// TestHedgingWhoseLegExits: a stats handler ends the goroutine of an attempt. The RPC ends with it, as after any failure
// that is not among the non-fatal ones.
func TestHedgingWhoseLegExits(t *testing.T) {
	for _, stream := range []bool{false, true} {
		for n := int32(1); n <= 2; n++ {
			what := fmt.Sprintf("stream %t, attempt %d", stream, n)
			e := newEcho()
			e.unary = func(ctx context.Context, _ *text) (*text, error) { <-ctx.Done(); return nil, ctx.Err() }
			e.stream = func(ss ServerStream) error { <-ss.Context().Done(); return ss.Context().Err() }
			c := &exitingLeg{}
			c.n.Store(n)
			cc := newTestClient(t, serve(t, e).addr, WithStatsHandler(c), WithDefaultServiceConfig(hedging(2, "0.001s", "", "")))
			var err error
			if stream {
				var st ClientStream
				if st, err = cc.NewStream(testContext(t), bidiStream, bidiMethod); err == nil {
					err = st.RecvMsg(new(text))
				}
			} else {
				err = call(testContext(t), cc, "x")
			}
			if status.Code(err) != codes.Internal {
				t.Errorf("%s: %v", what, err)
			}
			c.wantAllEnded(t, what, cc)
		}
	}
}

// TestHedgesAreBounded: no limit of the program's is a limit all the same.
func TestHedgesAreBounded(t *testing.T) {
	cc := newTestClient(t, serve(t, newEcho()).addr, WithMaxCallAttempts(math.MaxInt), WithDefaultServiceConfig(hedging(math.MaxInt32, "3600s", "", "")))
	if err := call(testContext(t), cc, "x"); err != nil {
		t.Error(err)
	}
}

// exitingSend is a stats handler that leaves for good when it is told of the first message that is sent.
type exitingSend struct {
	attemptCounter
	exit func()
	told atomic.Bool
}

func (e *exitingSend) HandleRPC(ctx context.Context, s stats.RPCStats) {
	e.attemptCounter.HandleRPC(ctx, s)
	if _, ok := s.(*stats.OutPayload); ok && !e.told.Swap(true) {
		e.exit()
	}
}

// TestHedgingWhoseSendExits: a stats handler leaves SendMsg of a hedged stream, which the program goes on with. Each
// attempt gets all messages.
func TestHedgingWhoseSendExits(t *testing.T) {
	for name, exit := range exits {
		got, answer := make(chan string, 2), make(chan struct{})
		e := newEcho()
		e.stream = func(ss ServerStream) error {
			var all string
			for m := new(text); ss.RecvMsg(m) == nil; m = new(text) {
				all += m.GetValue()
			}
			got <- all
			<-answer
			return nil
		}
		c := &exitingSend{exit: exit}
		cc := newTestClient(t, serve(t, e).addr, WithStatsHandler(c), WithDefaultServiceConfig(hedging(2, "0.001s", "", "")))
		st, err := cc.NewStream(testContext(t), bidiStream, bidiMethod)
		if err != nil {
			t.Fatal(err)
		}
		left(t, name, func() { _ = st.SendMsg(&text{Value: "a"}) })
		if err := st.SendMsg(&text{Value: "b"}); err != nil {
			t.Error(err)
		}
		_ = st.CloseSend()
		for range 2 {
			if all := within(t, got, "an attempt"); all != "ab" {
				t.Errorf("%s: an attempt got %q", name, all)
			}
		}
		close(answer)
		if err := st.RecvMsg(new(text)); err != io.EOF {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// usingErr is a context whose Err uses the stream, once there is one.
type usingErr struct {
	context.Context
	stream atomic.Pointer[ClientStream]
}

func (c *usingErr) Err() error {
	if st := c.stream.Load(); st != nil {
		(*st).Context()
	}
	return c.Context.Err()
}

// TestHedgingAsksContextUnlocked: the context is the program's.
func TestHedgingAsksContextUnlocked(t *testing.T) {
	_, cc := hedgedChannel(t, "after=UNAVAILABLE ok", hedging(2, "3600s", `"UNAVAILABLE"`, ""))
	ctx := &usingErr{Context: testContext(t)}
	st, err := cc.NewStream(ctx, bidiStream, bidiMethod)
	if err != nil {
		t.Fatal(err)
	}
	ctx.stream.Store(&st)
	if err := st.SendMsg(&text{Value: "x"}); err != nil {
		t.Fatal(err)
	}
	if err := st.RecvMsg(new(text)); err != nil {
		t.Error(err)
	}
}
