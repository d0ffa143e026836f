// SPDX-License-Identifier: Apache-2.0

package streams_test

import (
	"context"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/experimental/streams"
	"google.golang.org/grpc/status"
)

// life is what the model knows of one stream that was handed over.
type life struct {
	t       *testing.T
	rng     *rand.Rand // owned by who has the turn
	in      atomic.Int32
	next    int // the message that comes next
	half    bool
	done    atomic.Int32
	handler atomic.Bool // has returned
	release chan struct{}
}

// enter checks what holds for every callback; the function it returns follows.
func (l *life) enter(what string) func() {
	if l.in.Add(1) != 1 {
		l.t.Errorf("%s beside another callback", what)
	}
	if l.done.Load() != 0 {
		l.t.Errorf("%s after OnDone", what)
	}
	if !l.handler.Load() {
		l.t.Errorf("%s before the handler has returned", what)
	}
	return func() { l.in.Add(-1) }
}

func (l *life) message(s *bidi, m *request) {
	defer l.enter("OnMessage")()
	if got := string(m.GetPayload().GetBody()); got != strconv.Itoa(l.next) || l.half {
		l.t.Errorf("message %s, want %d; half-closed: %v", got, l.next, l.half)
	}
	l.next++
	switch l.rng.IntN(12) {
	case 0:
		_ = s.Finish(nil)
	case 1:
		panic("of the model")
	case 2:
		<-l.release // as long as the model runs, or the stream
	case 3:
		go func() { _ = s.Finish(status.Error(codes.Aborted, "from elsewhere")) }()
	case 4:
		go func() { _ = s.TrySend(reply("from elsewhere")) }()
	default:
		_ = s.Send(reply("answer"))
	}
}

func (l *life) halfClosed(s *bidi) {
	defer l.enter("OnHalfClose")()
	if l.half {
		l.t.Error("two half-closes")
	}
	l.half = true
	if l.rng.IntN(2) == 0 {
		_ = s.Finish(nil)
	}
}

func (l *life) over(*bidi, error) {
	defer l.enter("OnDone")()
	l.done.Add(1)
}

// TestModel plays many streams at once: clients that send, half-close, cancel, have deadlines
// and hang up, and callbacks that send, finish, block and panic. Each stream that was handed
// over hears of its end once, after everything else, in order; and in the end nothing is left:
// GracefulStop returns, and no goroutine stays.
func TestModel(t *testing.T) {
	const rounds, each = 6, 60
	for round := range rounds {
		release := make(chan struct{})
		var mu sync.Mutex
		var lives []*life
		opts := &streams.Options{Queue: 2, Recover: func(any) error { return status.Error(codes.Internal, "it panicked") }}
		var seed atomic.Uint64
		r := newRig(t, &service{duplex: func(st duplex) error {
			l := &life{t: t, rng: rand.New(rand.NewPCG(seed.Add(1), uint64(round))), release: release}
			fail := l.rng.IntN(10) == 0
			s, err := streams.Bidi(st, &bidiCalls{
				OnMessage:   l.message,
				OnHalfClose: l.halfClosed,
				OnReady:     func(*bidi) { l.enter("OnReady")() },
				OnDone:      l.over,
			}, opts)
			if err != nil {
				return err
			}
			mu.Lock()
			lives = append(lives, l)
			mu.Unlock()
			_ = s.Send(reply("hello"))
			l.handler.Store(true)
			if fail {
				return status.Error(codes.FailedPrecondition, "the handler's")
			}
			return nil
		}})
		var clients sync.WaitGroup
		for i := range each {
			clients.Go(func() { r.play(t, rand.New(rand.NewPCG(uint64(round), uint64(i)))) })
		}
		clients.Wait()
		close(release)
		r.cc.Close()
		stopped := make(chan struct{})
		go func() { r.server.GracefulStop(); close(stopped) }()
		await(t, stopped, "the end of GracefulStop")
		for _, l := range lives {
			if n := l.done.Load(); n != 1 {
				t.Errorf("OnDone was called %d times", n)
			}
		}
	}
}

// play is one client.
func (r *rig) play(t *testing.T, rng *rand.Rand) {
	limit := 300 * time.Millisecond // where a callback blocks there is no answer
	if rng.IntN(4) == 0 {
		limit = time.Duration(rng.IntN(20)) * time.Millisecond
	}
	ctx, cancel := context.WithTimeout(r.ctx, limit)
	defer cancel()
	cc := r.cc
	if rng.IntN(3) == 0 { // a connection of its own, that it may close
		own, err := grpc.NewClient(cc.Target(), grpc.WithTransportCredentials(plain()))
		if err != nil {
			t.Error(err)
			return
		}
		defer own.Close()
		cc = own
	}
	st, err := clientOf(cc).FullDuplexCall(ctx)
	if err != nil {
		return
	}
	for i := range rng.IntN(8) {
		if st.Send(ask(strconv.Itoa(i))) != nil {
			return
		}
		if rng.IntN(3) == 0 {
			if _, err := st.Recv(); err != nil {
				return
			}
		}
	}
	if rng.IntN(2) == 0 {
		_ = st.CloseSend()
	}
}
