// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/internal/serviceconfig"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
)

// hedging is a service config for test.Echo.
func hedging(attempts int, delay, nonFatal, more string) string {
	return fmt.Sprintf(`{"methodConfig":[{"name":[{"service":"test.Echo"}],"hedgingPolicy":{
		"maxAttempts":%d,"hedgingDelay":%q,"nonFatalStatusCodes":[%s]}}]%s}`, attempts, delay, nonFatal, more)
}

// answers makes an echo whose n-th attempt does what the n-th word says, and the last word
// holds for all that follow:
//
//	ok         it answers
//	hang       it waits until it is cancelled
//	headers    it sends headers, and then waits for release
//	pushback=N it fails with UNAVAILABLE and that pushback
//	CODE       it fails with that code
type answers struct {
	words   []string
	release chan struct{}

	mu        sync.Mutex
	seen      []string // grpc-previous-rpc-attempts, in order of arrival
	came      sync.Cond
	arrived   chan int // which attempts have come
	cancelled chan int // which of them were cancelled while they hung
}

func newAnswers(script string) *answers {
	a := &answers{words: strings.Fields(script), release: make(chan struct{}), arrived: make(chan int, 16), cancelled: make(chan int, 16)}
	a.came.L = &a.mu
	return a
}

// arrive notes an attempt, and returns its number and what it is to do, once those that
// began before have come too: they may overtake each other.
func (s *answers) arrive(ctx context.Context) (n int, previous, word, arg string) {
	md, _ := metadata.FromIncomingContext(ctx)
	previous = strings.Join(md["grpc-previous-rpc-attempts"], ",")
	n, _ = strconv.Atoi(previous)
	s.mu.Lock()
	s.seen = append(s.seen, previous)
	s.came.Broadcast()
	for len(s.seen) <= n {
		s.came.Wait()
	}
	s.mu.Unlock()
	s.arrived <- n
	word, arg, _ = strings.Cut(s.words[min(n, len(s.words)-1)], "=")
	return n, previous, word, arg
}

func (s *answers) unary(ctx context.Context, m *text) (*text, error) {
	n, previous, word, arg := s.arrive(ctx)
	switch word {
	case "ok":
		return m, nil
	case "hang":
		<-ctx.Done()
		s.cancelled <- n
		return nil, ctx.Err()
	case "headers":
		if err := SendHeader(ctx, metadata.Pairs("from", previous)); err != nil {
			return nil, err
		}
		<-s.release
		return nil, status.Error(codes.Unavailable, "after headers")
	case "pushback":
		if err := SetTrailer(ctx, metadata.Pairs("grpc-retry-pushback-ms", arg)); err != nil {
			return nil, err
		}
		return nil, status.Error(codes.Unavailable, "pushback")
	}
	return nil, errorOf(word)
}

// errorOf is an error with a code.
func errorOf(word string) error {
	var code codes.Code
	if err := code.UnmarshalJSON([]byte(strconv.Quote(word))); err != nil {
		return err
	}
	return status.Error(code, word)
}

func (s *answers) attempts() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := slices.Clone(s.seen)
	slices.Sort(seen) // they overtake each other
	return seen
}

// TestHedging has gRFC A6's rules on a real server. A delay of an hour shows that it is the
// answers that decide, one of a millisecond that it is the time.
func TestHedging(t *testing.T) {
	const unavailable = `"UNAVAILABLE"`
	for _, tt := range []struct {
		what     string
		script   string
		config   string
		opts     []DialOption
		callOpts []CallOption
		want     codes.Code
		attempts []string // by their grpc-previous-rpc-attempts
		hung     int      // attempts that were cancelled on the server
	}{
		{what: "the first answers", script: "ok hang", config: hedging(3, "3600s", "", ""), attempts: []string{""}},
		{what: "the second answers", script: "hang ok", config: hedging(2, "0.001s", "", ""), attempts: []string{"", "1"}, hung: 1},
		{what: "the third answers", script: "hang hang ok", config: hedging(3, "0.001s", "", ""), attempts: []string{"", "1", "2"}, hung: 2},
		{what: "fatal", script: "hang ABORTED", config: hedging(2, "0.001s", unavailable, ""), want: codes.Aborted, attempts: []string{"", "1"}, hung: 1},
		{what: "non-fatal: the next at once", script: "UNAVAILABLE ok", config: hedging(3, "3600s", unavailable, ""), attempts: []string{"", "1"}},
		{what: "all fail", script: "UNAVAILABLE", config: hedging(3, "3600s", unavailable, ""), want: codes.Unavailable, attempts: []string{"", "1", "2"}},
		{what: "five at most", script: "UNAVAILABLE", config: hedging(9, "3600s", unavailable, ""), want: codes.Unavailable, attempts: []string{"", "1", "2", "3", "4"}},
		{
			what: "channel's bound", script: "UNAVAILABLE", config: hedging(4, "3600s", unavailable, ""),
			opts: []DialOption{WithMaxCallAttempts(2)}, want: codes.Unavailable, attempts: []string{"", "1"},
		},
		{
			what: "disabled", script: "UNAVAILABLE", config: hedging(4, "0s", unavailable, ""),
			opts: []DialOption{WithDisableRetry()}, want: codes.Unavailable, attempts: []string{""},
		},
		{
			what: "too large for the buffer", script: "UNAVAILABLE", config: hedging(4, "0s", unavailable, ""),
			callOpts: []CallOption{MaxRetryRPCBufferSize(3)}, want: codes.Unavailable, attempts: []string{""},
		},
		{what: "pushback: no more", script: "pushback=-1 ok", config: hedging(3, "3600s", unavailable, ""), want: codes.Unavailable, attempts: []string{""}},
		{what: "pushback: no number", script: "pushback=x ok", config: hedging(3, "3600s", unavailable, ""), want: codes.Unavailable, attempts: []string{""}},
		{what: "pushback: later", script: "pushback=1 ok", config: hedging(3, "3600s", unavailable, ""), attempts: []string{"", "1"}},
		{what: "pushback on a fatal code", script: "pushback=1 ok", config: hedging(3, "3600s", "", ""), want: codes.Unavailable, attempts: []string{""}},
		{
			what: "throttled", script: "UNAVAILABLE ok", want: codes.Unavailable, attempts: []string{""},
			config: hedging(3, "3600s", unavailable, `,"retryThrottling":{"maxTokens":2,"tokenRatio":1}`),
		},
		{
			what: "almost throttled", script: "UNAVAILABLE ok", attempts: []string{"", "1"},
			config: hedging(3, "3600s", unavailable, `,"retryThrottling":{"maxTokens":3,"tokenRatio":1}`),
		},
	} {
		t.Run(tt.what, func(t *testing.T) {
			a := newAnswers(tt.script)
			e := newEcho()
			e.unary = a.unary
			cc := newTestClient(t, serve(t, e).addr, append(tt.opts, WithDefaultServiceConfig(tt.config))...)
			wantCode(t, tt.what, call(testContext(t), cc, "message", tt.callOpts...), tt.want)
			for range tt.hung {
				<-a.cancelled
			}
			if got := a.attempts(); !slices.Equal(got, tt.attempts) {
				t.Errorf("attempts with grpc-previous-rpc-attempts %q, want %q", got, tt.attempts)
			}
		})
	}
}

// All attempts are on their way before any of them is answered.
func TestHedgingAllAtOnce(t *testing.T) {
	e := newEcho()
	var gate sync.WaitGroup
	gate.Add(4)
	e.unary = func(_ context.Context, m *text) (*text, error) {
		gate.Done()
		gate.Wait()
		return m, nil
	}
	cc := newTestClient(t, serve(t, e).addr, WithDefaultServiceConfig(hedging(4, "0s", "", "")))
	wantCode(t, "call", call(testContext(t), cc, "x"), codes.OK)
}

// A server that refuses all streams sees the attempts of the policy, and one more: what was refused
// is sent again once for the RPC, not once for each attempt (gRFC A6).
func TestHedgingOneRetryOfRefused(t *testing.T) {
	for _, attempts := range []int{2, 5} {
		for _, stream := range []bool{false, true} {
			var seen atomic.Int32
			r := newRefuser(t, func(f *http2.Framer, id uint32, n int) bool {
				seen.Store(int32(n))
				_ = f.WriteRSTStream(id, http2.ErrCodeRefusedStream)
				return true
			})
			cc := newTestClient(t, r.lis.Addr().String(), WithDefaultServiceConfig(hedging(attempts, "0s", `"UNAVAILABLE"`, "")))
			var err error
			if stream {
				err = downCall(testContext(t), cc)
			} else {
				err = call(testContext(t), cc, "x")
			}
			wantCode(t, "call", err, codes.Unavailable)
			if n := int(seen.Load()); n != attempts+1 {
				t.Errorf("%d attempts, stream %t: the server saw %d streams", attempts, stream, n)
			}
			cc.Close()
			r.lis.Close()
		}
	}
}

// An attempt with response headers is the one that counts, though it fails with a code that
// is not fatal, and though others would answer.
func TestHedgingHeadersCommit(t *testing.T) {
	a := newAnswers("hang headers ok")
	e := newEcho()
	e.unary = a.unary
	cc := newTestClient(t, serve(t, e).addr, WithDefaultServiceConfig(hedging(2, "0.001s", `"UNAVAILABLE"`, "")))
	result := make(chan error)
	var header metadata.MD
	go func() { result <- call(testContext(t), cc, "x", Header(&header)) }()
	if n := <-a.cancelled; n != 0 { // at the headers of the other
		t.Errorf("attempt %d was cancelled", n)
	}
	close(a.release)
	err := <-result
	wantCode(t, "call", err, codes.Unavailable)
	if got := header["from"]; !slices.Equal(got, []string{"1"}) || !strings.Contains(err.Error(), "after headers") {
		t.Errorf("headers %v, error %v; want those of the second attempt", header, err)
	}
}

func TestHedgingEndsWithContext(t *testing.T) {
	a := newAnswers("hang")
	e := newEcho()
	e.unary = a.unary
	cc := newTestClient(t, serve(t, e).addr, WithDefaultServiceConfig(hedging(2, "0.001s", `"CANCELLED","UNAVAILABLE"`, "")))
	ctx, cancel := context.WithCancel(testContext(t))
	result := make(chan error)
	go func() { result <- call(ctx, cc, "x") }()
	<-a.arrived
	<-a.arrived
	cancel()
	wantCode(t, "cancelled", <-result, codes.Canceled)

	// While it waits for the server's pushback, and nothing is under way.
	a = newAnswers("pushback=3600000")
	e = newEcho()
	e.unary = a.unary
	cc = newTestClient(t, serve(t, e).addr, WithDefaultServiceConfig(hedging(2, "3600s", `"UNAVAILABLE"`, "")))
	ctx, cancel = context.WithTimeout(testContext(t), 30*time.Millisecond)
	defer cancel()
	wantCode(t, "deadline", call(ctx, cc, "x"), codes.DeadlineExceeded)
}

func TestHedgingEndsWithChannel(t *testing.T) {
	a := newAnswers("pushback=3600000")
	e := newEcho()
	e.unary = a.unary
	cc := newTestClient(t, serve(t, e).addr, WithDefaultServiceConfig(hedging(2, "3600s", `"UNAVAILABLE"`, "")))
	result := make(chan error)
	go func() { result <- call(testContext(t), cc, "x") }()
	<-a.arrived
	cc.Close()
	wantCode(t, "closed", <-result, codes.Canceled)
}

// attemptCounter is a stats handler that counts beginnings and ends.
type attemptCounter struct {
	mu     sync.Mutex
	began  int
	ends   []codes.Code
	sent   int
	parsed int
}

func (*attemptCounter) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

func (*attemptCounter) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

func (*attemptCounter) HandleConn(context.Context, stats.ConnStats) {}

func (c *attemptCounter) HandleRPC(_ context.Context, s stats.RPCStats) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch s := s.(type) {
	case *stats.Begin:
		c.began++
	case *stats.OutPayload:
		c.sent++
	case *stats.InPayload:
		c.parsed++
	case *stats.End:
		c.ends = append(c.ends, status.Code(s.Error))
	}
}

// Handlers see each attempt once from beginning to end, before the RPC returns, and one
// response.
func TestHedgingStats(t *testing.T) {
	a := newAnswers("hang hang ok")
	e := newEcho()
	e.unary = a.unary
	var c attemptCounter
	cc := newTestClient(t, serve(t, e).addr, WithStatsHandler(&c), WithDefaultServiceConfig(hedging(3, "0.001s", "", "")))
	wantCode(t, "call", call(testContext(t), cc, "x"), codes.OK)
	c.mu.Lock()
	defer c.mu.Unlock()
	slices.Sort(c.ends)
	if want := []codes.Code{codes.OK, codes.Canceled, codes.Canceled}; c.began != 3 || c.sent != 3 || c.parsed != 1 || !slices.Equal(c.ends, want) {
		t.Errorf("%d began, %d sent, %d responses, ends %v; want 3, 3, 1, %v", c.began, c.sent, c.parsed, c.ends, want)
	}
}

// TestHedgingResetsLateReply: an attempt whose message comes later than another one is not wanted, also where
// neither stream has ended yet. It has not succeeded, and its stream does not stay open.
func TestHedgingResetsLateReply(t *testing.T) {
	type meeting struct{ came, sent sync.WaitGroup } // of the two attempts of an RPC
	var now atomic.Pointer[meeting]
	e := newEcho()
	e.stream = func(ss ServerStream) error {
		at, m := now.Load(), new(text)
		if err := ss.RecvMsg(m); err != nil {
			return err
		}
		at.came.Done()
		at.came.Wait()
		err := ss.SendMsg(m)
		at.sent.Done()
		at.sent.Wait()
		return err
	}
	var c attemptCounter
	log := &clientLogger{}
	cc := newTestClient(t, serve(t, e).addr, WithStatsHandler(&c), withBinaryLogger(log), WithDefaultServiceConfig(hedging(2, "0s", "", "")))
	for range 50 {
		at := new(meeting)
		at.came.Add(2)
		at.sent.Add(2)
		now.Store(at)
		if err := cc.Invoke(testContext(t), bidiMethod, &text{Value: "x"}, new(text)); err != nil {
			t.Fatal(err)
		}
		c.mu.Lock()
		slices.Sort(c.ends)
		if want := []codes.Code{codes.OK, codes.Canceled}; !slices.Equal(c.ends, want) {
			t.Errorf("ends %v, want %v", c.ends, want)
		}
		if _, types := log.sink.take(); types != "CLIENT_HEADER CLIENT_MESSAGE SERVER_HEADER SERVER_MESSAGE SERVER_TRAILER" {
			t.Errorf("logged %s", types)
		}
		c.ends = nil
		c.mu.Unlock()
	}
}

// TestHedgingDropsReplyBeforeStatus: a message that comes before a status is dropped, whether the attempt counts or not: its
// buffer goes back to the pool.
func TestHedgingDropsReplyBeforeStatus(t *testing.T) {
	e := newEcho()
	e.stream = func(ss ServerStream) error {
		if err := ss.SendMsg(&text{Value: strings.Repeat("x", 100_000)}); err != nil {
			return err
		}
		return status.Error(codes.Unavailable, "after a message")
	}
	for _, nonFatal := range []string{"", `"UNAVAILABLE"`} {
		pool := mem.NewTieredBufferPool(1<<10, 1<<20)
		lent := &countedPool{BufferPool: pool}
		cc := newTestClient(t, serve(t, e).addr, channelPool{pool: lent}, WithDefaultServiceConfig(hedging(2, "0.001s", nonFatal, "")))
		err := cc.Invoke(testContext(t), bidiMethod, &text{Value: "x"}, new(text))
		wantCode(t, "call", err, codes.Unavailable)
		cc.Close()
		lent.wantNone(t)
	}
}

// countedPool counts the large buffers that are lent.
type countedPool struct {
	mem.BufferPool
	large atomic.Int64
}

func (p *countedPool) Get(n int) *[]byte {
	b := p.BufferPool.Get(n)
	if cap(*b) > 16<<10 {
		p.large.Add(1)
	}
	return b
}

func (p *countedPool) Put(b *[]byte) {
	if cap(*b) > 16<<10 {
		p.large.Add(-1)
	}
	p.BufferPool.Put(b)
}

func (p *countedPool) wantNone(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); p.large.Load() != 0; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Errorf("%d large buffers are lent", p.large.Load())
			return
		}
	}
}

// TestHedgingBesideRetries: where a config has both policies, RPCs are retried.
func TestHedgingBesideRetries(t *testing.T) {
	const both = `{"methodConfig":[{"name":[{}],"hedgingPolicy":{"maxAttempts":2},"retryPolicy":{"maxAttempts":2,"initialBackoff":"1s","maxBackoff":"1s","backoffMultiplier":1,"retryableStatusCodes":[1]}}]}`
	config, err := serviceconfig.Parse([]byte(both))
	if err != nil {
		t.Fatal(err)
	}
	if m := config.Methods[""]; m.RetryPolicy == nil || m.HedgingPolicy != nil {
		t.Errorf("retries %v, hedges %v", m.RetryPolicy, m.HedgingPolicy)
	}
}

func TestHedgingConfigs(t *testing.T) {
	for config, want := range map[string]string{
		hedging(1, "1s", "", ""):    "hedgingPolicy: maxAttempts is 1",
		hedging(2, "1", "", ""):     "",
		hedging(2, "-1s", "", ""):   "hedgingPolicy: hedgingDelay is negative",
		hedging(2, "1s", `99`, ""):  "invalid code",
		hedging(2, "1s", `"x"`, ""): "invalid code",
	} {
		_, err := NewClient("passthrough:///x", WithTransportCredentials(insecure.NewCredentials()), WithDefaultServiceConfig(config))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", config, err, want)
		}
	}
}

// stuckToken is a token that the second attempt of an RPC waits for, whatever its context says.
type stuckToken struct {
	token
	asked          atomic.Int32
	stuck, release chan struct{}
}

func (s *stuckToken) GetRequestMetadata(ctx context.Context, uri ...string) (map[string]string, error) {
	if s.asked.Add(1) == 2 {
		close(s.stuck)
		<-s.release
	}
	return s.token.GetRequestMetadata(ctx, uri...)
}

// TestHedgingLeavesStuckCredentials: an RPC that has its answer does not wait for the credentials of another attempt,
// and a stream does not, either. All attempts have ended when it ends.
func TestHedgingLeavesStuckCredentials(t *testing.T) {
	for _, stream := range []bool{false, true} {
		creds := &stuckToken{stuck: make(chan struct{}), release: make(chan struct{})}
		e := newEcho()
		e.unary = func(_ context.Context, m *text) (*text, error) { <-creds.stuck; return m, nil }
		e.stream = func(ServerStream) error { <-creds.stuck; return nil }
		c := &attemptCounter{}
		cc := newTestClient(t, serve(t, e).addr, WithStatsHandler(c), WithPerRPCCredentials(creds),
			WithDefaultServiceConfig(hedging(2, "0.001s", "", "")))
		var err error
		if stream {
			var st ClientStream
			if st, err = cc.NewStream(testContext(t), bidiStream, bidiMethod); err == nil {
				if err = st.RecvMsg(new(text)); err == io.EOF {
					err = nil
				}
			}
		} else {
			err = call(testContext(t), cc, "x")
		}
		if err != nil {
			t.Errorf("stream %t: %v", stream, err)
		}
		c.wantAllEnded(t, fmt.Sprintf("stream %t", stream), cc)
		close(creds.release)
	}
}
