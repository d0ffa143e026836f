// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/binarylog"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// stream does what the words say, as unary does, and these:
//
//	ok         it sends back what it receives
//	wait       it does so after release
//	after=CODE it fails with that code once it has received a message
func (s *answers) stream(ss ServerStream) error {
	ctx := ss.Context()
	n, previous, word, arg := s.arrive(ctx)
	switch word {
	case "ok":
		return newEcho().stream(ss)
	case "hang":
		<-ctx.Done()
		s.cancelled <- n
		return ctx.Err()
	case "wait":
		<-s.release
		return newEcho().stream(ss)
	case "after":
		if err := ss.RecvMsg(new(text)); err != nil {
			return err
		}
		return errorOf(arg)
	case "headers":
		if err := ss.SendHeader(metadata.Pairs("from", previous)); err != nil {
			return err
		}
		<-s.release
		return status.Error(codes.Unavailable, "after headers")
	case "pushback":
		ss.SetTrailer(metadata.Pairs("grpc-retry-pushback-ms", arg))
		return status.Error(codes.Unavailable, "pushback")
	}
	return errorOf(word)
}

// hedgedChannel is a channel to a server that answers by the script.
func hedgedChannel(t *testing.T, script, config string, opts ...DialOption) (*answers, *ClientConn) {
	t.Helper()
	a := newAnswers(script)
	e := newEcho()
	e.stream = a.stream
	return a, newTestClient(t, serve(t, e).addr, append(opts, WithDefaultServiceConfig(config))...)
}

// talk sends the words and reads all of the answer. It returns what came back.
func talk(ctx context.Context, cc *ClientConn, words string, opts ...CallOption) (string, error) {
	st, err := cc.NewStream(ctx, bidiStream, bidiMethod, opts...)
	if err != nil {
		return "", err
	}
	for word := range strings.FieldsSeq(words) {
		if st.SendMsg(&text{Value: word}) != nil {
			break // RecvMsg tells why
		}
	}
	_ = st.CloseSend()
	var got []string
	for {
		var m text
		switch err := st.RecvMsg(&m); {
		case errors.Is(err, io.EOF):
			return strings.Join(got, " "), nil
		case err != nil:
			return strings.Join(got, " "), err
		}
		got = append(got, m.Value)
	}
}

// TestHedgedStreams has gRFC A6's rules for streams of messages, each of which every attempt
// is sent. A delay of an hour shows that it is the answers that decide, one of a millisecond
// that it is the time.
func TestHedgedStreams(t *testing.T) {
	const unavailable = `"UNAVAILABLE"`
	for _, tt := range []struct {
		what     string
		script   string
		config   string
		opts     []DialOption
		want     codes.Code
		attempts []string // by their grpc-previous-rpc-attempts
		hung     int      // attempts that were cancelled on the server
	}{
		{what: "the first answers", script: "ok hang", config: hedging(3, "3600s", "", ""), attempts: []string{""}},
		{what: "the second answers", script: "hang ok", config: hedging(2, "0.001s", "", ""), attempts: []string{"", "1"}, hung: 1},
		{what: "the third answers", script: "hang hang ok", config: hedging(3, "0.001s", "", ""), attempts: []string{"", "1", "2"}, hung: 2},
		{what: "fatal", script: "hang ABORTED", config: hedging(2, "0.001s", unavailable, ""), want: codes.Aborted, attempts: []string{"", "1"}, hung: 1},
		{what: "non-fatal: the next at once", script: "UNAVAILABLE ok", config: hedging(3, "3600s", unavailable, ""), attempts: []string{"", "1"}},
		{what: "non-fatal, in the middle", script: "after=UNAVAILABLE ok", config: hedging(3, "3600s", unavailable, ""), attempts: []string{"", "1"}},
		{what: "all fail", script: "UNAVAILABLE", config: hedging(3, "3600s", unavailable, ""), want: codes.Unavailable, attempts: []string{"", "1", "2"}},
		{
			what: "channel's bound", script: "UNAVAILABLE", config: hedging(4, "3600s", unavailable, ""),
			opts: []DialOption{WithMaxCallAttempts(2)}, want: codes.Unavailable, attempts: []string{"", "1"},
		},
		{
			what: "disabled", script: "UNAVAILABLE", config: hedging(4, "0s", unavailable, ""),
			opts: []DialOption{WithDisableRetry()}, want: codes.Unavailable, attempts: []string{""},
		},
		{what: "pushback: no more", script: "pushback=-1 ok", config: hedging(3, "3600s", unavailable, ""), want: codes.Unavailable, attempts: []string{""}},
		{what: "pushback: later", script: "pushback=1 ok", config: hedging(3, "3600s", unavailable, ""), attempts: []string{"", "1"}},
		{
			what: "throttled", script: "UNAVAILABLE ok", want: codes.Unavailable, attempts: []string{""},
			config: hedging(3, "3600s", unavailable, `,"retryThrottling":{"maxTokens":2,"tokenRatio":1}`),
		},
	} {
		t.Run(tt.what, func(t *testing.T) {
			a, cc := hedgedChannel(t, tt.script, tt.config, tt.opts...)
			got, err := talk(testContext(t), cc, "one two three")
			wantCode(t, tt.what, err, tt.want)
			if err == nil && got != "one two three" {
				t.Errorf("received %q", got)
			}
			for range tt.hung {
				<-a.cancelled
			}
			if got := a.attempts(); !slices.Equal(got, tt.attempts) {
				t.Errorf("attempts with grpc-previous-rpc-attempts %q, want %q", got, tt.attempts)
			}
		})
	}
}

// One side streams.
func TestHedgedOneWay(t *testing.T) {
	_, cc := hedgedChannel(t, "hang ok", hedging(2, "0.001s", "", ""))
	if err := downCall(testContext(t), cc); err != nil {
		t.Errorf("the server streams: %v", err)
	}
	_, cc = hedgedChannel(t, "hang ok", hedging(2, "0.001s", "", ""))
	st, err := cc.NewStream(testContext(t), &StreamDesc{ClientStreams: true}, "/test.Echo/Up")
	if err != nil {
		t.Fatal(err)
	}
	if err := st.SendMsg(&text{Value: "up"}); err != nil {
		t.Fatal(err)
	}
	if err := st.CloseSend(); err != nil {
		t.Fatal(err)
	}
	var reply text
	if err := st.RecvMsg(&reply); err != nil || reply.Value != "up" {
		t.Errorf("the client streams: %q, %v", reply.Value, err)
	}
}

// awaitLegs returns when n attempts are on their way: a server may hear of one before that.
func awaitLegs(cs *clientStream, n int) {
	h := cs.hedges
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for {
		on := 0
		for _, l := range h.legs {
			if l.onWay {
				on++
			}
		}
		if on >= n {
			return
		}
		h.changed.Wait()
	}
}

// What does not fit into the buffer makes the oldest attempt the one that counts: the others
// are cancelled, and no more begin.
func TestHedgedStreamTooLarge(t *testing.T) {
	a, cc := hedgedChannel(t, "wait hang", hedging(2, "0.001s", `"UNAVAILABLE"`, ""))
	st, err := cc.NewStream(testContext(t), bidiStream, bidiMethod, MaxRetryRPCBufferSize(8))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		<-a.arrived
	}
	awaitLegs(st.(*clientStream), 2)
	for range 3 {
		if err := st.SendMsg(&text{Value: "12345"}); err != nil {
			t.Fatal(err)
		}
	}
	if n := <-a.cancelled; n == 0 {
		t.Error("the oldest attempt was cancelled")
	}
	close(a.release)
	_ = st.CloseSend()
	for range 3 {
		var m text
		if err := st.RecvMsg(&m); err != nil || m.Value != "12345" {
			t.Fatalf("%q, %v", m.Value, err)
		}
	}
	if err := st.RecvMsg(new(text)); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}

// The next attempt is an hour away when what is sent does not fit: nothing is under way, and
// nothing will be.
func TestHedgedStreamTooLargeMeanwhile(t *testing.T) {
	a, cc := hedgedChannel(t, "pushback=3600000 ok", hedging(2, "3600s", `"UNAVAILABLE"`, ""))
	st, err := cc.NewStream(testContext(t), bidiStream, bidiMethod, MaxRetryRPCBufferSize(8))
	if err != nil {
		t.Fatal(err)
	}
	<-a.arrived
	for err == nil { // the answer may come late
		err = st.SendMsg(&text{Value: "123456789"})
	}
	if !errors.Is(err, io.EOF) {
		t.Errorf("SendMsg: %v", err)
	}
	wantCode(t, "RecvMsg", st.RecvMsg(new(text)), codes.Unavailable)
	st.Trailer().Set("a", "map")
}

// TestHedgedStreamFails: SendMsg fails the RPC while the attempt that counts has no answer yet. RecvMsg then
// returns the same error.
func TestHedgedStreamFails(t *testing.T) {
	a, cc := hedgedChannel(t, "hang", hedging(2, "3600s", `"UNAVAILABLE"`, ""))
	st, err := cc.NewStream(testContext(t), bidiStream, bidiMethod, MaxRetryRPCBufferSize(8))
	if err != nil {
		t.Fatal(err)
	}
	<-a.arrived
	if err := st.SendMsg(&text{Value: "123456789"}); err != nil { // makes the attempt count
		t.Fatal(err)
	}
	want := st.SendMsg("not a message")
	wantCode(t, "SendMsg", want, codes.Internal)
	for range 2 {
		if err := st.RecvMsg(new(text)); err != want {
			t.Errorf("RecvMsg: %v, want %v", err, want)
		}
	}
}

// An attempt with response headers is the one that counts.
func TestHedgedStreamHeaders(t *testing.T) {
	a, cc := hedgedChannel(t, "hang headers ok", hedging(2, "0.001s", `"UNAVAILABLE"`, ""))
	st, err := cc.NewStream(testContext(t), bidiStream, bidiMethod)
	if err != nil {
		t.Fatal(err)
	}
	st.Context() // decides nothing
	if md, err := st.Header(); err != nil || !slices.Equal(md["from"], []string{"1"}) {
		t.Errorf("headers %v, %v; want those of the second attempt", md, err)
	}
	if n := <-a.cancelled; n != 0 {
		t.Errorf("attempt %d was cancelled", n)
	}
	close(a.release)
	err = st.RecvMsg(new(text))
	if wantCode(t, "stream", err, codes.Unavailable); !strings.Contains(err.Error(), "after headers") {
		t.Error(err)
	}
}

func TestHedgedStreamEndsWithContext(t *testing.T) {
	a, cc := hedgedChannel(t, "hang", hedging(2, "0.001s", `"CANCELLED","UNAVAILABLE"`, ""))
	ctx, cancel := context.WithCancel(testContext(t))
	finished := make(chan error, 1)
	st, err := cc.NewStream(ctx, bidiStream, bidiMethod, OnFinish(func(err error) { finished <- err }))
	if err != nil {
		t.Fatal(err)
	}
	<-a.arrived
	<-a.arrived
	cancel()
	wantCode(t, "cancelled", st.RecvMsg(new(text)), codes.Canceled)
	wantCode(t, "finished", <-finished, codes.Canceled)
	<-a.cancelled
	<-a.cancelled
	if md, err := st.Header(); md != nil || err != nil {
		t.Errorf("headers %v, %v", md, err)
	}

	// While nothing is under way, by itself and with nobody who waits.
	a, cc = hedgedChannel(t, "pushback=3600000", hedging(2, "3600s", `"UNAVAILABLE"`, ""))
	ctx, cancel = context.WithCancel(testContext(t))
	if _, err = cc.NewStream(ctx, bidiStream, bidiMethod, OnFinish(func(err error) { finished <- err })); err != nil {
		t.Fatal(err)
	}
	<-a.arrived
	cancel()
	wantCode(t, "cancelled", <-finished, codes.Canceled)
}

func TestHedgedStreamEndsWithChannel(t *testing.T) {
	a, cc := hedgedChannel(t, "hang", hedging(2, "0.001s", "", ""))
	st, err := cc.NewStream(testContext(t), bidiStream, bidiMethod)
	if err != nil {
		t.Fatal(err)
	}
	<-a.arrived
	<-a.arrived
	cc.Close()
	wantCode(t, "closed", st.RecvMsg(new(text)), codes.Canceled)
}

// NewStream itself fails if no attempt comes so far as to be sent.
func TestHedgedStreamNotSent(t *testing.T) {
	lis := listen(t)
	addr := lis.Addr().String()
	lis.Close()
	var c attemptCounter
	cc := newTestClient(t, addr, WithStatsHandler(&c), WithDefaultServiceConfig(hedging(3, "3600s", `"UNAVAILABLE"`, "")))
	_, err := cc.NewStream(testContext(t), bidiStream, bidiMethod)
	wantCode(t, "NewStream", err, codes.Unavailable)
	c.mu.Lock()
	defer c.mu.Unlock()
	if want := []codes.Code{codes.Unavailable, codes.Unavailable, codes.Unavailable}; c.began != 3 || !slices.Equal(c.ends, want) {
		t.Errorf("%d began, ends %v", c.began, c.ends)
	}
}

// Handlers see each attempt once from beginning to end, before the RPC is over; the binary
// log sees the RPC.
func TestHedgedStreamStats(t *testing.T) {
	log := &clientLogger{}
	var c attemptCounter
	_, cc := hedgedChannel(t, "hang hang ok", hedging(3, "0.001s", "", ""), WithStatsHandler(&c), withBinaryLogger(log))
	if _, err := talk(testContext(t), cc, "x y"); err != nil {
		t.Fatal(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	slices.Sort(c.ends)
	if want := []codes.Code{codes.OK, codes.Canceled, codes.Canceled}; c.began != 3 || c.parsed != 2 || !slices.Equal(c.ends, want) {
		t.Errorf("%d began, %d responses, ends %v; want 3, 2, %v", c.began, c.parsed, c.ends, want)
	}
	const want = "CLIENT_HEADER CLIENT_MESSAGE CLIENT_MESSAGE CLIENT_HALF_CLOSE SERVER_HEADER SERVER_MESSAGE SERVER_MESSAGE SERVER_TRAILER"
	if _, types := log.sink.take(); types != want {
		t.Errorf("logged %s", types)
	}
}

// clientLogger is a Logger of everything.
type clientLogger struct {
	*binarylog.TruncatingMethodLogger
	sink clientSink
}

func (l *clientLogger) GetMethodLogger(string) binarylog.MethodLogger {
	l.TruncatingMethodLogger = binarylog.NewTruncatingMethodLogger(1<<20, 1<<20)
	return l
}

func (l *clientLogger) Log(_ context.Context, c binarylog.LogEntryConfig) {
	_ = l.sink.Write(l.Build(c))
}
