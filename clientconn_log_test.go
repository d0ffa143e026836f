// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	pb "google.golang.org/grpc/binarylog/grpc_binarylog_v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/binarylog"
	"google.golang.org/grpc/internal/testutils"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
)

// logged is what one side has logged.
type logged struct {
	mu      sync.Mutex
	entries []*pb.GrpcLogEntry
}

func (l *logged) add(e *pb.GrpcLogEntry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = append(l.entries, e)
}

func (l *logged) Close() error { return nil }

// take returns the entries since the last one, and their types.
func (l *logged) take() (entries []*pb.GrpcLogEntry, types string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	entries, l.entries = l.entries, nil
	var list []string
	for _, e := range entries {
		list = append(list, strings.TrimPrefix(e.Type.String(), "EVENT_TYPE_"))
	}
	return entries, strings.Join(list, " ")
}

// clientSink keeps what clients log.
type clientSink struct{ logged }

func newClientSink(t *testing.T) *clientSink {
	s := &clientSink{}
	binarylog.SetSink(s)
	t.Cleanup(func() { binarylog.SetSink(nil) })
	return s
}

func (s *clientSink) Write(e *pb.GrpcLogEntry) error {
	if e.Logger == pb.GrpcLogEntry_LOGGER_CLIENT {
		s.add(e)
	}
	return nil
}

func TestClientBinaryLog(t *testing.T) {
	if !testutils.InChild(t, "GRPC_BINARY_LOG_FILTER=*") {
		return
	}
	sink := newClientSink(t)
	e, _ := flaky(2, status.Error(codes.Unavailable, "not now"))
	s := serve(t, e)
	cc := newTestClient(t, s.addr, WithDefaultServiceConfig(retryConfig))
	ctx := metadata.AppendToOutgoingContext(testContext(t), "x-out", "1")

	const whole = "CLIENT_HEADER CLIENT_MESSAGE SERVER_HEADER SERVER_MESSAGE SERVER_TRAILER"
	if err := call(ctx, cc, "hello", UseCompressor("gzip")); err != nil {
		t.Fatal(err)
	}
	entries, types := sink.take()
	if types != whole {
		t.Fatalf("unary with retries: %s", types)
	}
	h := entries[0].GetClientHeader()
	if h.GetMethodName() != unaryMethod || h.GetAuthority() != s.addr || h.GetTimeout().AsDuration() <= 0 {
		t.Errorf("client header %v", h)
	}
	for _, e := range entries {
		if m := e.GetMessage(); m != nil && !strings.Contains(string(m.Data), "hello") {
			t.Errorf("message %v", m)
		}
	}
	if entries[2].GetPeer() == nil {
		t.Error("the server's address is missing")
	}
	if err := downCall(ctx, cc); err != nil {
		t.Fatal(err)
	}
	if _, types := sink.take(); types != whole { // a client that does not stream ends with its message
		t.Errorf("stream of the server: %s", types)
	}
	// What never left the client is not logged: its error may have a secret of its credentials.
	if err := call(ctx, cc, "x", PerRPCCredentials(failingToken{errors.New("secret")})); err == nil {
		t.Error("a call without a token succeeds")
	}
	if _, types := sink.take(); types != "" {
		t.Errorf("without a token: %s", types)
	}
	hedged := newTestClient(t, serve(t, newEcho()).addr, WithDefaultServiceConfig(hedging(2, "3600s", "", "")))
	if err := call(ctx, hedged, "x", PerRPCCredentials(failingToken{errors.New("secret")})); err == nil {
		t.Error("a hedged call without a token succeeds")
	}
	if _, types := sink.take(); types != "" {
		t.Errorf("hedged, without a token: %s", types)
	}
	if err := call(ctx, hedged, "hello"); err != nil {
		t.Error(err)
	}
	if _, types := sink.take(); types != whole {
		t.Errorf("hedged: %s", types)
	}
	// The first attempt ends before it has a stream.
	patient := newTestClient(t, serve(t, newEcho()).addr, WithDefaultServiceConfig(retryConfig))
	if err := call(ctx, patient, "hello", PerRPCCredentials(&lateToken{})); err != nil {
		t.Error(err)
	}
	if _, types := sink.take(); types != whole {
		t.Errorf("with a token that comes late: %s", types)
	}
	for name, cc := range map[string]*ClientConn{"a stream": cc, "a hedged stream": hedged} {
		ctx, cancel := context.WithCancel(ctx)
		finished := make(chan error, 1)
		st, err := cc.NewStream(ctx, bidiStream, bidiMethod, OnFinish(func(err error) { finished <- err }))
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		wantCode(t, "cancelled", <-finished, codes.Canceled)
		_ = st.RecvMsg(new(text))
		if _, types := sink.take(); types != "CLIENT_HEADER CANCEL" {
			t.Errorf("%s, cancelled: %s", name, types)
		}
	}
	st, err := cc.NewStream(ctx, bidiStream, "/test.Echo/Missing")
	if err != nil {
		t.Fatal(err)
	}
	wantCode(t, "no such method", st.RecvMsg(new(text)), codes.Unimplemented)
	if err := st.CloseSend(); err != nil {
		t.Error(err)
	}
	if _, types := sink.take(); types != "CLIENT_HEADER SERVER_TRAILER" {
		t.Errorf("a half-close after the end: %s", types)
	}
}

// TestClientBinaryLogOfDeadline: an RPC that ends here, though the program did not cancel it, is logged with its status.
func TestClientBinaryLogOfDeadline(t *testing.T) {
	if !testutils.InChild(t, "GRPC_BINARY_LOG_FILTER=*") {
		return
	}
	sink := newClientSink(t)
	cc := newTestClient(t, serve(t, newEcho()).addr)
	if err := call(testContext(t), cc, "x"); err != nil { // connects
		t.Fatal(err)
	}
	sink.take()
	for want, timeout := range map[codes.Code]time.Duration{codes.DeadlineExceeded: 500 * time.Millisecond, codes.Aborted: time.Hour} {
		ctx, cancel := context.WithTimeout(testContext(t), timeout)
		st, err := cc.NewStream(ctx, bidiStream, bidiMethod)
		if err != nil {
			t.Fatal(err)
		}
		if want == codes.Aborted {
			st.(*clientStream).abort(status.Error(codes.Aborted, "as of an interceptor"))
		}
		wantCode(t, "the stream", st.RecvMsg(new(text)), want)
		entries, types := sink.take()
		if types != "CLIENT_HEADER SERVER_TRAILER" || entries[1].GetTrailer().GetStatusCode() != uint32(want) {
			t.Errorf("%v: %s, %v", want, types, entries)
		}
		cancel()
	}
}

// cancelsAtEnd cancels an RPC when its first attempt has ended.
type cancelsAtEnd struct {
	quietStats
	cancel context.CancelFunc
}

func (c *cancelsAtEnd) HandleRPC(_ context.Context, e stats.RPCStats) {
	if _, ok := e.(*stats.End); ok {
		c.cancel()
	}
}

// TestClientBinaryLogOfPause: the response of an attempt that another one was to follow is not logged as the RPC's,
// if the RPC ends before that.
func TestClientBinaryLogOfPause(t *testing.T) {
	if !testutils.InChild(t, "GRPC_BINARY_LOG_FILTER=*") {
		return
	}
	sink := newClientSink(t)
	e, _ := flaky(100, status.Error(codes.Unavailable, "not now"))
	addr := serve(t, e).addr
	later := strings.NewReplacer(`"0.001s"`, `"3600s"`, `"0.002s"`, `"3600s"`).Replace(retryConfig)
	for name, tt := range map[string]struct {
		config string
		call   func(context.Context, *ClientConn) error
	}{
		"unary":  {later, func(ctx context.Context, cc *ClientConn) error { return call(ctx, cc, "x") }},
		"stream": {later, downCall},
	} {
		ctx, cancel := context.WithCancel(testContext(t))
		cc := newTestClient(t, addr, WithDefaultServiceConfig(tt.config), WithStatsHandler(&cancelsAtEnd{cancel: cancel}))
		wantCode(t, name, tt.call(ctx, cc), codes.Canceled)
		if _, types := sink.take(); types != "CLIENT_HEADER CLIENT_MESSAGE CANCEL" {
			t.Errorf("%s: %s", name, types)
		}
	}
}

// failingToken has none.
type failingToken struct{ err error }

func (t failingToken) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return nil, t.err
}
func (failingToken) RequireTransportSecurity() bool { return false }

// lateToken has one only when it is asked again.
type lateToken struct {
	failingToken
	asked bool
}

func (t *lateToken) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	if !t.asked {
		t.asked = true
		return nil, status.Error(codes.Unavailable, "not yet")
	}
	return map[string]string{"authorization": "x"}, nil
}

// TestStreamsPrintNoSecrets: a stream is printed, in whatever way, without what it sends.
func TestStreamsPrintNoSecrets(t *testing.T) {
	cc := newTestClient(t, serve(t, newEcho()).addr)
	ctx := metadata.AppendToOutgoingContext(testContext(t), "x", "secret of a stream")
	st, err := cc.NewStream(ctx, bidiStream, bidiMethod)
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%d", "%x"} {
		if text := fmt.Sprintf(verb, st); len(text) > 60 {
			t.Errorf("%s: %s", verb, text)
		}
	}
	_ = st.CloseSend()
	_ = st.RecvMsg(new(text))
}
