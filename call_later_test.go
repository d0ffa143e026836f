// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"errors"
	"io"
	"runtime"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/rpcconfig"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// deciding is an Interceptor that calls next on another goroutine.
type deciding struct {
	decide <-chan struct{} // nil: at once
	await  bool            // Begin waits until next has returned
}

func (d *deciding) Begin(ctx context.Context, rpc rpcconfig.RPC, next func(context.Context) (rpcconfig.Stream, error)) (rpcconfig.Stream, error) {
	s := &decided{begun: make(chan struct{}), err: errUnreturned}
	next = rpc.Later(next)
	go func() {
		defer close(s.begun)
		if d.decide != nil {
			<-d.decide
		}
		s.inner, s.err = next(ctx)
	}()
	if d.await {
		<-s.begun
	}
	return s, nil
}

// decided is the stream of deciding.
type decided struct {
	begun chan struct{} // closed when inner or err is set
	inner rpcconfig.Stream
	err   error
}

func (s *decided) stream() rpcconfig.Stream {
	if <-s.begun; s.err != nil {
		return failed{s.err}
	}
	return s.inner
}

func (s *decided) Header() (metadata.MD, error) { return s.stream().Header() }
func (s *decided) Trailer() metadata.MD         { return s.stream().Trailer() }
func (s *decided) CloseSend() error             { return s.stream().CloseSend() }
func (s *decided) Context() context.Context     { return s.stream().Context() }
func (s *decided) SendMsg(m any) error          { return s.stream().SendMsg(m) }
func (s *decided) RecvMsg(m any) error          { return s.stream().RecvMsg(m) }

// failed is the stream of an RPC that has ended with err.
type failed struct{ err error }

func (failed) Header() (metadata.MD, error) { return nil, nil }
func (failed) Trailer() metadata.MD         { return nil }
func (failed) CloseSend() error             { return nil }
func (failed) Context() context.Context     { return context.Background() }
func (failed) SendMsg(any) error            { return io.EOF }
func (f failed) RecvMsg(any) error          { return f.err }

// selfEnding is an Interceptor that ends the RPC with success, without a message.
type selfEnding struct{}

func (selfEnding) Begin(context.Context, rpcconfig.RPC, func(context.Context) (rpcconfig.Stream, error)) (rpcconfig.Stream, error) {
	return failed{io.EOF}, nil
}

// TestInterceptorsDecideLater: an RPC ends once, and with what the program is told, whichever interceptor of a
// chain ends it, and in whatever order those that begin it later do so.
func TestInterceptorsDecideLater(t *testing.T) {
	s := serving(t)
	fault := status.Error(codes.Aborted, "fault")
	for name, tt := range map[string]struct {
		last rpcconfig.Interceptor
		want codes.Code // of the RPC's own end
	}{
		"goes on":      {&filter{}, codes.OK},
		"fails before": {&filter{before: fault}, codes.Aborted},
		"fails after":  {&filter{after: fault}, codes.Aborted},
		"begins twice": {&filter{again: true}, codes.Internal},
		"answers":      {selfEnding{}, codes.OK},
	} {
		for form, before := range map[string]func(first <-chan struct{}) []rpcconfig.Interceptor{
			"one":         func(c <-chan struct{}) []rpcconfig.Interceptor { return []rpcconfig.Interceptor{&deciding{decide: c}} },
			"one awaited": func(<-chan struct{}) []rpcconfig.Interceptor { return []rpcconfig.Interceptor{&deciding{await: true}} },
			"two": func(c <-chan struct{}) []rpcconfig.Interceptor {
				return []rpcconfig.Interceptor{&deciding{decide: c}, &deciding{}}
			},
			"two, the second before the first": func(c <-chan struct{}) []rpcconfig.Interceptor {
				return []rpcconfig.Interceptor{&deciding{decide: c}, &deciding{await: true}}
			},
			"two, both before the RPC": func(<-chan struct{}) []rpcconfig.Interceptor {
				return []rpcconfig.Interceptor{&deciding{await: true}, &deciding{await: true}}
			},
			"three": func(c <-chan struct{}) []rpcconfig.Interceptor {
				return []rpcconfig.Interceptor{&deciding{}, &filter{}, &deciding{decide: c}, &deciding{}}
			},
		} {
			for _, method := range []string{unaryMethod, bidiMethod} {
				t.Run(name+"/"+form+method, func(t *testing.T) {
					begin := make(chan struct{})
					commits, ends := make(chan struct{}, 9), make(chan error, 9)
					cc, _ := selecting(t, s, func(context.Context, string) (rpcconfig.Choice, error) {
						list := append(before(begin), tt.last)
						return rpcconfig.Choice{Interceptor: rpcconfig.Chain(list...), Committed: func() { commits <- struct{}{} }}, nil
					})
					var header metadata.MD
					rpcEnds := make(chan error, 1)
					go func() {
						rpcEnds <- lateRPC(testContext(t), cc, method, begin, OnFinish(func(err error) { ends <- err }), Header(&header))
					}()
					err := within(t, rpcEnds, "the program's end of the RPC")
					if tt.last == (selfEnding{}) && method == unaryMethod {
						if status.Code(err) != codes.Internal { // the reply is missing
							t.Errorf("the program is told %v", err)
						}
					} else if status.Code(err) != tt.want {
						t.Errorf("the program is told %v, want %v", err, tt.want)
					}
					header = nil // finds a race if the options are served later
					if method == unaryMethod && len(ends) != 1 || len(commits) != 1 {
						t.Fatalf("%d ends and %d commits once the program was told of the end", len(ends), len(commits))
					}
					if err := within(t, ends, "the RPC's end"); status.Code(err) != tt.want || len(ends) != 0 {
						t.Errorf("OnFinish is told %v, want %v", err, tt.want)
					}
				})
			}
		}
	}
}

// endingFilter is an Interceptor that ends the RPC's context, and says with which status.
type endingFilter struct{ err error }

func (f endingFilter) Begin(ctx context.Context, rpc rpcconfig.RPC, next rpcconfig.Next) (rpcconfig.Stream, error) {
	ctx, end := context.WithCancelCause(ctx)
	end(rpc.Cause(f.err))
	return next(ctx)
}

// endingLater does so once the program has sent a message.
type endingLater struct{ err error }

func (f endingLater) Begin(ctx context.Context, rpc rpcconfig.RPC, next rpcconfig.Next) (rpcconfig.Stream, error) {
	ctx, end := context.WithCancelCause(ctx)
	st, err := next(ctx)
	return &endsAtSend{st, func() { end(rpc.Cause(f.err)) }}, err
}

type endsAtSend struct {
	rpcconfig.Stream
	end func()
}

func (s *endsAtSend) SendMsg(m any) error {
	s.end()
	return s.Stream.SendMsg(m)
}

// endingMeanwhile ends the context while the RPC waits for credentials, which it also is.
type endingMeanwhile struct {
	failingToken
	end func()
}

func (f *endingMeanwhile) Begin(ctx context.Context, rpc rpcconfig.RPC, next rpcconfig.Next) (rpcconfig.Stream, error) {
	ctx, end := context.WithCancelCause(ctx)
	f.end = func() { end(rpc.Cause(f.err)) }
	return next(rpcconfig.WithCredentials(ctx, f))
}

func (f *endingMeanwhile) GetRequestMetadata(ctx context.Context, _ ...string) (map[string]string, error) {
	f.end()
	return nil, status.FromContextError(ctx.Err()).Err()
}

// TestInterceptorEndsContextOfOneRPC: another RPC, whose context is made of that one's, is cancelled.
func TestInterceptorEndsContextOfOneRPC(t *testing.T) {
	s := serving(t)
	cc, _ := selecting(t, s, func(context.Context, string) (rpcconfig.Choice, error) {
		return rpcconfig.Choice{Interceptor: endingLater{status.Error(codes.PermissionDenied, "denied")}}, nil
	})
	one, err := cc.NewStream(testContext(t), bidiStream, bidiMethod)
	if err != nil {
		t.Fatal(err)
	}
	for _, other := range []*ClientConn{cc, newTestClient(t, s.addr)} {
		ctx, cancel := context.WithCancel(one.Context())
		defer cancel()
		two, err := other.NewStream(ctx, bidiStream, bidiMethod)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { wantCode(t, "the other RPC", two.RecvMsg(new(text)), codes.Canceled) }()
	}
	_ = one.SendMsg(new(text))
	wantCode(t, "the RPC", one.RecvMsg(new(text)), codes.PermissionDenied)
}

// TestInterceptorEndsContext: an RPC ends for everybody with the status that an interceptor gives the end of its context,
// and no attempt is made for a context that has ended.
func TestInterceptorEndsContext(t *testing.T) {
	denied := status.Error(codes.PermissionDenied, "denied")
	for name, f := range map[string]rpcconfig.Interceptor{
		"before": endingFilter{denied}, "meanwhile": &endingMeanwhile{failingToken: failingToken{denied}}, "later": endingLater{denied},
	} {
		for _, method := range []string{unaryMethod, bidiMethod} {
			watch := &attemptCounter{}
			cc, _ := selecting(t, serving(t), func(context.Context, string) (rpcconfig.Choice, error) {
				return rpcconfig.Choice{Interceptor: f}, nil
			}, WithStatsHandler(watch))
			ends, begin := make(chan error, 9), make(chan struct{})
			_ = lateRPC(testContext(t), cc, method, begin, OnFinish(func(err error) { ends <- err }))
			if err := within(t, ends, "OnFinish"); status.Code(err) != codes.PermissionDenied || len(ends) != 0 {
				t.Errorf("%s, %s: OnFinish is told %v", name, method, err)
			}
			watch.mu.Lock()
			if want := map[string]int{"before": 0, "meanwhile": 1, "later": 1}[name]; watch.began != want || len(watch.ends) != want || name == "later" && watch.ends[0] != codes.PermissionDenied {
				t.Errorf("%s, %s: %d attempts, which end with %v", name, method, watch.began, watch.ends)
			}
			watch.mu.Unlock()
		}
	}
}

// TestOnFinishAsksStreamBegunLater: an OnFinish function may use the stream, also if an interceptor behind one that begins
// the RPC later ends it.
func TestOnFinishAsksStreamBegunLater(t *testing.T) {
	s := serving(t)
	fault, denied := status.Error(codes.Aborted, "fault"), status.Error(codes.PermissionDenied, "no token")
	for name, tt := range map[string]struct {
		last rpcconfig.Interceptor
		want error
		opt  CallOption
	}{
		"fails before":      {&filter{before: fault}, fault, EmptyCallOption{}},
		"fails after":       {&filter{after: fault}, fault, EmptyCallOption{}},
		"answers":           {selfEnding{}, io.EOF, EmptyCallOption{}},
		"fails to begin":    {&filter{}, denied, PerRPCCredentials(failingToken{denied})},
		"credentials exit":  {&filter{}, errUnreturned, PerRPCCredentials(exitingToken{exit: runtime.Goexit})},
		"ended by a filter": {endingFilter{fault}, fault, EmptyCallOption{}},
	} {
		t.Run(name, func(t *testing.T) {
			begin, asked := make(chan struct{}), make(chan error, 1)
			cc, _ := selecting(t, s, func(context.Context, string) (rpcconfig.Choice, error) {
				return rpcconfig.Choice{Interceptor: rpcconfig.Chain(&deciding{decide: begin}, tt.last)}, nil
			})
			var st ClientStream
			st, err := cc.NewStream(testContext(t), bidiStream, bidiMethod, tt.opt, OnFinish(func(error) {
				_, _ = st.Header()
				_, _ = st.Trailer(), st.Context()
				asked <- st.RecvMsg(new(text))
			}))
			if err != nil {
				t.Fatal(err)
			}
			close(begin)
			if err := within(t, asked, "an OnFinish function that asks the stream"); !errors.Is(err, tt.want) && status.Code(err) != status.Code(tt.want) {
				t.Error(err)
			}
		})
	}
}

// TestInterceptorFailsBeforeDecision: an RPC ends also if an interceptor in front of one that decides later fails
// at once.
func TestInterceptorFailsBeforeDecision(t *testing.T) {
	s := serving(t)
	begin, ends := make(chan struct{}), make(chan error, 9)
	first := &filter{after: status.Error(codes.Aborted, "fault")}
	cc, _ := selecting(t, s, func(context.Context, string) (rpcconfig.Choice, error) {
		return rpcconfig.Choice{Interceptor: rpcconfig.Chain(first, &deciding{decide: begin})}, nil
	})
	_, err := cc.NewStream(testContext(t), bidiStream, bidiMethod, OnFinish(func(err error) { ends <- err }))
	if status.Code(err) != codes.Aborted || len(ends) != 0 {
		t.Errorf("%v, and %d ends before the RPC could begin", err, len(ends))
	}
	close(begin)
	if err := within(t, ends, "the RPC's end"); status.Code(err) != codes.Aborted {
		t.Errorf("OnFinish is told %v", err)
	}
}

// lateRPC makes an RPC to its end, and closes begin, once NewStream has returned if there is one.
func lateRPC(ctx context.Context, cc *ClientConn, method string, begin chan<- struct{}, opts ...CallOption) error {
	if method == unaryMethod {
		close(begin)
		return cc.Invoke(ctx, method, &text{}, new(text), opts...)
	}
	st, err := cc.NewStream(ctx, bidiStream, method, opts...)
	close(begin)
	if err != nil {
		return err
	}
	_ = st.SendMsg(&text{})
	return closeAndReceive(st)
}
