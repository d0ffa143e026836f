// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	istats "google.golang.org/grpc/internal/stats"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/test/bufconn"
)

// briefly gives each attempt a context that ends after a minute.
type briefly struct{ stats.Handler }

func (briefly) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	context.AfterFunc(ctx, cancel)
	return ctx
}
func (briefly) HandleRPC(context.Context, stats.RPCStats) {}
func (briefly) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context {
	return ctx
}
func (briefly) HandleConn(context.Context, stats.ConnStats) {}

// TestWaitsEndWithTheContext has every wait of a stream end with its context, however that
// ends; while nobody else waits for that, the stream does without a context of its own.
func TestWaitsEndWithTheContext(t *testing.T) {
	waits := map[string]func(ClientStream) error{
		"message": func(s ClientStream) error { return s.RecvMsg(new(text)) },
		"headers": func(s ClientStream) error {
			s.Header()
			return s.RecvMsg(new(text))
		},
		"room": func(s ClientStream) error {
			for s.SendMsg(&text{Value: string(make([]byte, 32<<10))}) == nil {
			}
			return s.RecvMsg(new(text))
		},
	}
	ends := map[string]struct {
		context func(context.Context) (context.Context, context.CancelFunc)
		opts    []DialOption
		want    codes.Code
		tree    bool
	}{
		"cancelled":             {context: context.WithCancel, want: codes.Canceled},
		"deadline":              {context: after(time.Minute), want: codes.DeadlineExceeded},
		"deadline of a handler": {context: context.WithCancel, opts: []DialOption{WithStatsHandler(briefly{})}, want: codes.DeadlineExceeded, tree: true},
	}
	for wait, f := range waits {
		for end, tt := range ends {
			t.Run(wait+", "+end, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := tt.context(t.Context())
					defer cancel()
					s := silentStream(ctx, t, tt.opts...)
					ended := make(chan error, 1)
					go func() { ended <- f(s) }()
					synctest.Wait()
					own := &s.(*clientStream).own
					own.mu.Lock()
					if got := own.tree != nil; got != tt.tree {
						t.Errorf("a context for those who wait: %v", got)
					}
					own.mu.Unlock()
					if tt.want == codes.Canceled {
						cancel()
					}
					wantCode(t, wait, <-ended, tt.want)
				})
			})
		}
	}
}

func after(d time.Duration) func(context.Context) (context.Context, context.CancelFunc) {
	return func(ctx context.Context) (context.Context, context.CancelFunc) {
		return context.WithTimeout(ctx, d)
	}
}

// silentStream is a stream whose handler neither reads nor says anything.
func silentStream(ctx context.Context, t *testing.T, opts ...DialOption) ClientStream {
	lis := bufconn.Listen(1 << 10)
	s := NewServer()
	s.RegisterService(&echoDesc, &echo{stream: func(ss ServerStream) error {
		<-ss.Context().Done()
		return nil
	}})
	go s.Serve(lis)
	t.Cleanup(s.Stop)
	cc := newTestClient(t, "passthrough:///memory", append(opts,
		WithContextDialer(func(context.Context, string) (net.Conn, error) { return lis.Dial() }))...)
	st, err := cc.NewStream(ctx, bidiStream, bidiMethod)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// labelled has a receiver of labels for each attempt.
type labelled struct {
	quietStats
	got func(map[string]string)
}

func (l labelled) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context {
	return istats.WithLabelCallback(ctx, l.got)
}

// TestLabelsOfAnotherRPC: the context of a stream has the program's receiver of labels, but not its attempt's: an
// RPC that is made with it has its own.
func TestLabelsOfAnotherRPC(t *testing.T) {
	cc := newTestClient(t, serve(t, newEcho()).addr, WithStatsHandler(labelled{got: func(labels map[string]string) {
		t.Errorf("the attempt has %v", labels)
	}}))
	got := 0
	ctx := istats.WithLabelCallback(testContext(t), func(map[string]string) { got++ })
	s, err := cc.NewStream(ctx, bidiStream, bidiMethod)
	if err != nil {
		t.Fatal(err)
	}
	istats.UpdateLabels(s.Context(), map[string]string{"of": "another"})
	if got != 1 {
		t.Errorf("the program was told %d times", got)
	}
}

// unlockedParent is a parent of a streamContext that is asked only while that has no lock.
type unlockedParent struct {
	context.Context
	t     *testing.T
	child *streamContext
	asked int
}

func (p *unlockedParent) check() {
	p.asked++
	if !p.child.mu.TryLock() {
		p.t.Error("the parent is asked with the lock held")
		return
	}
	p.child.mu.Unlock()
}

func (p *unlockedParent) Err() error            { p.check(); return p.Context.Err() }
func (p *unlockedParent) Done() <-chan struct{} { p.check(); return p.Context.Done() }
func (p *unlockedParent) Value(key any) any     { p.check(); return p.Context.Value(key) }

// TestStreamContextAsksUnlocked: the parent is the program's.
func TestStreamContextAsksUnlocked(t *testing.T) {
	for _, cancelled := range []bool{false, true} {
		c := &streamContext{}
		p := &unlockedParent{Context: t.Context(), t: t, child: c}
		c.parent = p
		if cancelled {
			c.cancel()
		}
		done := c.Done()
		if c.Done() != done {
			t.Error("another Done")
		}
		c.cancel()
		within(t, done, "the end")
		if c.Err() == nil || p.asked == 0 {
			t.Errorf("error %v, asked %d times", c.Err(), p.asked)
		}
	}
}
