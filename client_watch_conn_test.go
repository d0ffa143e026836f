// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/grpclog"
	"google.golang.org/grpc/internal/testutils"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/stats"
)

// connWatch notes the events of connections.
type connWatch struct {
	mu    sync.Mutex
	notes []string
}

func (w *connWatch) note(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.notes = append(w.notes, what)
}

func (w *connWatch) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.notes)
}

func (w *connWatch) TagConn(ctx context.Context, i *stats.ConnTagInfo) context.Context {
	if p, ok := peer.FromContext(ctx); !ok || p.Addr != i.RemoteAddr {
		w.note("no peer")
	}
	w.note("TagConn")
	return ctx
}

func (w *connWatch) HandleConn(_ context.Context, s stats.ConnStats) {
	w.note(strings.TrimPrefix(fmt.Sprintf("%T", s), "*stats."))
}

func (*connWatch) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }
func (*connWatch) HandleRPC(context.Context, stats.RPCStats)                       {}

// TestConnectionThatNeverSpoke: stats handlers are told of the beginning and the end of a
// connection that the server closes before its SETTINGS.
func TestConnectionThatNeverSpoke(t *testing.T) {
	lis := listen(t)
	go func() {
		for {
			c, err := lis.Accept()
			if err != nil {
				return
			}
			_, _ = io.ReadFull(c, make([]byte, 24))
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { _ = lis.Close() })
	w := &connWatch{}
	cc := newTestClient(t, "passthrough:///"+lis.Addr().(*net.TCPAddr).String(), WithStatsHandler(w))
	wantCode(t, "call", call(testContext(t), cc, "x"), codes.Unavailable)
	waitUntil(t, "the end is told", func() bool { return slices.Contains(w.take(), "ConnEnd") })
	if got, want := w.take()[:3], []string{"TagConn", "ConnBegin", "ConnEnd"}; !slices.Equal(got, want) {
		t.Errorf("told %q, want %q", got, want)
	}
}

// connContexts keeps the context of a connection's begin and of its end.
type connContexts struct{ begin, end chan context.Context }

func (connContexts) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

func (c connContexts) HandleConn(ctx context.Context, s stats.ConnStats) {
	switch s.(type) {
	case *stats.ConnBegin:
		c.begin <- ctx
	case *stats.ConnEnd:
		c.end <- ctx
	}
}

func (connContexts) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }
func (connContexts) HandleRPC(context.Context, stats.RPCStats)                       {}

// TestContextOfConnectionEnds: what a client's stats handler has bound to the context of a
// connection ends with it, before the handler is told; and the handler is told before Close returns.
func TestContextOfConnectionEnds(t *testing.T) {
	w := connContexts{make(chan context.Context, 1), make(chan context.Context, 1)}
	s := serve(t, newEcho())
	cc := newTestClient(t, s.addr, WithStatsHandler(w))
	wantCode(t, "call", call(testContext(t), cc, "x"), codes.OK)
	begin := within(t, w.begin, "ConnBegin")
	if err := begin.Err(); err != nil {
		t.Errorf("while the connection is open: %v", err)
	}
	if err := cc.Close(); err != nil {
		t.Error(err)
	}
	if len(w.end) == 0 {
		t.Fatal("Close returned before ConnEnd was told")
	}
	end := <-w.end
	if begin.Err() == nil || end.Err() == nil {
		t.Errorf("at its end: %v, %v", begin.Err(), end.Err())
	}
}

// lateReader is a connection whose reader learns late that it is closed.
type lateReader struct {
	net.Conn
	may chan struct{}
}

func (c lateReader) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err != nil {
		<-c.may
	}
	return n, err
}

// TestCloseTellsConnEnd: the stats handler is told of a connection's end, once, before Close
// returns, whoever else knows of it.
func TestCloseTellsConnEnd(t *testing.T) {
	w := &connWatch{}
	may := make(chan struct{})
	s := serve(t, newEcho())
	cc := newTestClient(t, "passthrough:///"+s.addr, WithStatsHandler(w), WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		return lateReader{c, may}, err
	}))
	wantCode(t, "call", call(testContext(t), cc, "x"), codes.OK)
	if err := cc.Close(); err != nil {
		t.Error(err)
	}
	close(may)
	if got, want := w.take(), []string{"TagConn", "ConnBegin", "ConnEnd"}; !slices.Equal(got, want) {
		t.Errorf("told %q, want %q", got, want)
	}
}

// TestNilStatsHandlersAreLogged: a nil handler is ignored, and the log says so.
func TestNilStatsHandlersAreLogged(t *testing.T) {
	if !testutils.InChild(t, "") {
		return
	}
	log := lockedBuffer{grown: make(chan struct{}, 1)}
	grpclog.SetLoggerV2(grpclog.NewLoggerV2WithVerbosity(io.Discard, io.Discard, &log, 2))
	newTestClient(t, "passthrough:///x", WithStatsHandler(nil))
	NewServer(StatsHandler(nil)).Stop()
	for _, want := range []string{"grpc.WithStatsHandler ClientOption", "grpc.StatsHandler ServerOption"} {
		if !strings.Contains(log.String(), "ERROR: [core] ignoring nil parameter in "+want) {
			t.Errorf("the log does not name %s: %q", want, log.String())
		}
	}
}

// endsBefore is a stats handler that waits for the end of its RPC where a connection's end is told.
type endsBefore struct {
	connContexts
	ended chan struct{}
}

func (w endsBefore) HandleRPC(_ context.Context, s stats.RPCStats) {
	if _, ok := s.(*stats.End); ok {
		close(w.ended)
	}
}

func (w endsBefore) HandleConn(_ context.Context, s stats.ConnStats) {
	if _, ok := s.(*stats.ConnEnd); ok {
		<-w.ended
	}
}

// TestConnEndAwaitsRPC: RPCs learn that their connection is lost before stats handlers do, who may
// wait for them, on both sides.
func TestConnEndAwaitsRPC(t *testing.T) {
	ours, theirs := endsBefore{ended: make(chan struct{})}, endsBefore{ended: make(chan struct{})}
	began := make(chan struct{})
	e := newEcho()
	e.stream = func(ss ServerStream) error {
		close(began)
		<-ss.Context().Done()
		return ss.Context().Err()
	}
	s := serve(t, e, StatsHandler(theirs))
	conns := make(chan net.Conn, 1)
	cc := newTestClient(t, "passthrough:///"+s.addr, WithStatsHandler(ours), WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		conns <- c
		return c, err
	}))
	st, err := cc.NewStream(testContext(t), bidiStream, bidiMethod)
	if err != nil {
		t.Fatal(err)
	}
	if err := st.SendMsg(&text{Value: "x"}); err != nil {
		t.Fatal(err)
	}
	<-began
	(<-conns).Close()
	wantCode(t, "the RPC", st.RecvMsg(new(text)), codes.Unavailable)
	within(t, theirs.ended, "the handler's end")
	s.Stop()
}
