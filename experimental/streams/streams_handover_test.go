// SPDX-License-Identifier: Apache-2.0

package streams_test

import (
	"context"
	"io"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/experimental/streams"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
)

// hub hands over the stream of each watch, and has them.
type hub struct {
	mu    sync.Mutex
	all   []*watcher
	added chan *watcher
	calls *streams.ServerCallbacks[streams.None, response]
	opts  *streams.Options
}

type watcher = streams.Server[streams.None, response]

func newHub() *hub { return &hub{added: make(chan *watcher, 1000)} }

func (h *hub) watch(_ *request, st downwards) error {
	w, err := streams.ServerStreaming(st, h.calls, h.opts)
	if err != nil {
		return err
	}
	h.mu.Lock()
	h.all = append(h.all, w)
	h.mu.Unlock()
	h.added <- w
	return nil
}

// 200 streams that were handed over, each with a message sent, hold no goroutine.
func TestNoGoroutine(t *testing.T) {
	const n = 200
	h := newHub()
	r := newRig(t, &service{down: h.watch})
	var watches []grpc.ServerStreamingClient[response]
	for i := range n {
		st, err := r.client.StreamingOutputCall(r.ctx, &request{})
		if err != nil {
			t.Fatal(err)
		}
		watches = append(watches, st)
		if err := await(t, h.added, "a stream").Send(reply(strconv.Itoa(i))); err != nil {
			t.Fatal(err)
		}
		if _, err := st.Recv(); err != nil {
			t.Fatal(err)
		}
	}
	deadline := time.Now().Add(patience)
	for runtime.NumGoroutine() > n/4 { // warm ones go by and by
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines for %d streams", runtime.NumGoroutine(), n)
		}
		runtime.Gosched()
	}
	for _, w := range h.all {
		if err := w.Finish(status.Error(codes.Aborted, "over")); err != nil {
			t.Error(err)
		}
	}
	for _, st := range watches {
		if _, err := st.Recv(); status.Code(err) != codes.Aborted {
			t.Error(err)
		}
	}
}

// The deadline of a stream that was handed over is kept though nobody waits.
func TestDeadline(t *testing.T) {
	done := make(chan error, 1)
	h := newHub()
	h.calls = &streams.ServerCallbacks[streams.None, response]{OnDone: func(_ *watcher, err error) { done <- err }}
	r := newRig(t, &service{down: h.watch})
	ctx, cancel := context.WithTimeout(r.ctx, 2*time.Second)
	defer cancel()
	st, err := r.client.StreamingOutputCall(ctx, &request{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := st.Recv(); status.Code(err) != codes.DeadlineExceeded {
		t.Error(err)
	}
	if err := await(t, done, "OnDone"); status.Code(err) != codes.DeadlineExceeded && status.Code(err) != codes.Canceled {
		t.Error(err)
	}
}

// What interceptors and stats handlers see: the return of the handler at the hand-over, each
// message, and the end when it comes.
func TestObserved(t *testing.T) {
	seen := &record{ch: make(chan string, 100)}
	var returned int
	outer := func(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
		err := handler(srv, &counted{ServerStream: ss, seen: seen})
		returned++
		seen.add("interceptor: " + status.Code(err).String())
		return err
	}
	done := make(chan error, 1)
	r := newRig(t, &service{duplex: handOver(echoing(done), nil)}, grpc.ChainStreamInterceptor(outer), grpc.StatsHandler(seen))
	st, err := r.client.FullDuplexCall(r.ctx)
	if err != nil {
		t.Fatal(err)
	}
	seen.want(t, "begin", "interceptor: OK")
	if err := st.Send(ask("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Recv(); err != nil {
		t.Fatal(err)
	}
	seen.want(t, "in", "recv", "out", "send")
	_ = st.CloseSend()
	if err := await(t, done, "OnDone"); err != nil {
		t.Error(err)
	}
	seen.want(t, "recv", "end <nil>")
}

// counted is a stream as an interceptor wraps it.
type counted struct {
	grpc.ServerStream
	seen *record
}

func (c *counted) RecvMsg(m any) error {
	err := c.ServerStream.RecvMsg(m)
	c.seen.add("recv")
	return err
}

func (c *counted) SendMsg(m any) error {
	err := c.ServerStream.SendMsg(m)
	c.seen.add("send")
	return err
}

// record is a stats handler that remembers.
type record struct{ ch chan string }

func (r *record) add(what string) { r.ch <- what }

func (r *record) want(t *testing.T, want ...string) {
	t.Helper()
	for _, w := range want {
		if got := await(t, r.ch, w); got != w {
			t.Fatalf("%q, want %q", got, w)
		}
	}
}

func (*record) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (*record) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (*record) HandleConn(context.Context, stats.ConnStats)                       {}
func (r *record) HandleRPC(_ context.Context, e stats.RPCStats) {
	switch e := e.(type) {
	case *stats.Begin:
		r.add("begin")
	case *stats.InPayload:
		r.add("in")
	case *stats.OutPayload:
		r.add("out")
	case *stats.End:
		if e.Error == nil {
			r.add("end <nil>")
		} else {
			r.add("end " + status.Code(e.Error).String())
		}
	}
}

// connRecord remembers connections, too.
type connRecord struct{ *record }

func (c connRecord) HandleConn(_ context.Context, e stats.ConnStats) {
	switch e.(type) {
	case *stats.ConnBegin:
		c.add("connection begins")
	case *stats.ConnEnd:
		c.add("connection ends")
	}
}

// TestConnEndsLast: behind net/http, where an RPC counts as a connection for stats handlers, the connection ends after the RPC.
func TestConnEndsLast(t *testing.T) {
	for name, handedOver := range map[string]bool{"handed over": true, "not handed over": false} {
		t.Run(name, func(t *testing.T) {
			seen := &record{ch: make(chan string, 100)}
			handler := func(duplex) error { return nil }
			if handedOver {
				handler = handOver(echoing(make(chan error, 1)), nil)
			}
			s := grpc.NewServer(grpc.StatsHandler(connRecord{seen}))
			testpb.RegisterTestServiceServer(s, &service{duplex: handler})
			t.Cleanup(s.Stop)
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			st, err := clientOf(overHTTP(t, s)).FullDuplexCall(ctx)
			if err != nil {
				t.Fatal(err)
			}
			_ = st.CloseSend()
			if _, err := st.Recv(); err != io.EOF {
				t.Errorf("the end is %v", err)
			}
			seen.want(t, "connection begins", "begin", "end <nil>", "connection ends")
		})
	}
}

// An interceptor's error ends an RPC that its handler has handed over.
func TestInterceptorFails(t *testing.T) {
	done := make(chan error, 1)
	fail := func(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
		if err := handler(srv, ss); err != nil {
			return err
		}
		return status.Error(codes.DataLoss, "the interceptor's")
	}
	r := newRig(t, &service{duplex: handOver(echoing(done), nil)}, grpc.StreamInterceptor(fail))
	st, err := r.client.FullDuplexCall(r.ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := st.Recv(); status.Code(err) != codes.DataLoss {
		t.Error(err)
	}
	if err := await(t, done, "OnDone"); status.Code(err) != codes.DataLoss {
		t.Error(err)
	}
}

// GracefulStop waits for streams that were handed over.
func TestGracefulStop(t *testing.T) {
	h := newHub()
	r := newRig(t, &service{down: h.watch})
	st, err := r.client.StreamingOutputCall(r.ctx, &request{})
	if err != nil {
		t.Fatal(err)
	}
	w := await(t, h.added, "the stream")
	stopped := make(chan struct{})
	go func() { r.server.GracefulStop(); close(stopped) }()
	if err := w.Send(reply("still")); err != nil {
		t.Error(err)
	}
	if _, err := st.Recv(); err != nil {
		t.Error(err)
	}
	select {
	case <-stopped:
		t.Error("GracefulStop did not wait")
	default:
	}
	if err := w.Finish(nil); err != nil {
		t.Error(err)
	}
	await(t, stopped, "the end of GracefulStop")
}

// fill opens a stream whose client does not read, and sends m on it as often as there is room.
func fill(t *testing.T, r *rig, h *hub, m *response) (st grpc.ServerStreamingClient[response], w *watcher, sent int) {
	t.Helper()
	st, err := r.client.StreamingOutputCall(r.ctx, &request{})
	if err != nil {
		t.Fatal(err)
	}
	w = await(t, h.added, "the stream")
	for w.TrySend(m) == nil {
		sent++
	}
	return st, w, sent
}

// A client that does not read leaves no room, and the policy says what becomes of what is sent.
func TestPolicies(t *testing.T) {
	big := &response{Payload: &testpb.Payload{Body: make([]byte, 100<<10)}}
	const queued = 4
	for _, policy := range []streams.Policy{streams.Fail, streams.DropOldest, streams.End} {
		t.Run(strconv.Itoa(int(policy)), func(t *testing.T) {
			done, ready := make(chan error, 1), make(chan struct{}, 1)
			h := newHub()
			h.opts = &streams.Options{Queue: queued, Full: policy}
			h.calls = &streams.ServerCallbacks[streams.None, response]{
				OnReady: func(*watcher) { ready <- struct{}{} },
				OnDone:  func(_ *watcher, err error) { done <- err },
			}
			r := newRig(t, &service{down: h.watch})
			st, w, sent := fill(t, r, h, big)
			for range queued {
				if err := w.Send(big); err != nil {
					t.Fatal(err)
				}
				sent++
			}
			err := w.Send(big)
			switch policy {
			case streams.Fail, streams.End:
				if err == nil || status.Code(err) != codes.ResourceExhausted {
					t.Errorf("Send: %v", err)
				}
			case streams.DropOldest:
				if err != nil {
					t.Errorf("Send: %v", err)
				}
			}
			if policy == streams.End {
				if err := await(t, done, "OnDone"); status.Code(err) != codes.ResourceExhausted {
					t.Errorf("OnDone: %v", err)
				}
				return
			}
			for range sent {
				if _, err := st.Recv(); err != nil {
					t.Fatal(err)
				}
			}
			await(t, ready, "OnReady")
			if err := w.Finish(nil); err != nil {
				t.Error(err)
			}
			if err := await(t, done, "OnDone"); err != nil {
				t.Error(err)
			}
		})
	}
}

// fails ends the goroutine, in one way or the other, that sends a certain message.
type fails struct {
	grpc.ServerStream
	by func()
}

func (f fails) SendMsg(m any) error {
	if string(m.(*response).GetPayload().GetBody()) == "fails" {
		f.by()
	}
	return f.ServerStream.SendMsg(m)
}

// What is around a stream may panic, or end its goroutine, while a message is sent that has waited for room.
func TestWaitingMessagePanics(t *testing.T) {
	big := &response{Payload: &testpb.Payload{Body: make([]byte, 100<<10)}}
	for name, tt := range map[string]struct {
		by   func()
		want codes.Code
	}{
		"panic":  {func() { panic("of the test") }, codes.DataLoss},
		"Goexit": {runtime.Goexit, codes.Internal},
	} {
		t.Run(name, func(t *testing.T) {
			done := make(chan error, 1)
			h := newHub()
			h.opts = &streams.Options{Queue: 2, Recover: func(v any) error { return status.Error(codes.DataLoss, v.(string)) }}
			h.calls = &streams.ServerCallbacks[streams.None, response]{OnDone: func(_ *watcher, err error) { done <- err }}
			around := func(srv any, st grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
				return next(srv, fails{st, tt.by})
			}
			r := newRig(t, &service{down: h.watch}, grpc.StreamInterceptor(around))
			st, w, sent := fill(t, r, h, big)
			if err := w.Send(&response{Payload: &testpb.Payload{Body: []byte("fails")}}); err != nil {
				t.Fatal(err)
			}
			for range sent {
				if _, err := st.Recv(); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := st.Recv(); status.Code(err) != tt.want {
				t.Errorf("the client: %v", err)
			}
			if err := await(t, done, "OnDone"); status.Code(err) != tt.want {
				t.Errorf("OnDone: %v", err)
			}
			if err := w.Send(big); err == nil {
				t.Error("the stream is not over")
			}
		})
	}
}

// connTagger is a stats handler that gives connections a context.
type connTagger func(context.Context) context.Context

func (f connTagger) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return f(ctx) }
func (connTagger) HandleConn(context.Context, stats.ConnStats)                         {}
func (connTagger) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context     { return ctx }
func (connTagger) HandleRPC(context.Context, stats.RPCStats)                           {}

// TestProgramsContext: the RPC ends when the context ends that a tap, or TagConn of a stats handler, has returned,
// whether the client still sends or not.
func TestProgramsContext(t *testing.T) {
	var end atomic.Pointer[context.CancelFunc]
	bind := func(ctx context.Context) context.Context {
		ctx, cancel := context.WithCancel(ctx)
		end.Store(&cancel)
		return ctx
	}
	options := map[string]grpc.ServerOption{
		"tap":     grpc.InTapHandle(func(ctx context.Context, _ *tap.Info) (context.Context, error) { return bind(ctx), nil }),
		"TagConn": grpc.StatsHandler(connTagger(bind)),
	}
	for _, way := range []string{"Serve, tap", "Serve, TagConn", "ServeHTTP, tap", "ServeHTTP, TagConn"} {
		way, whose, _ := strings.Cut(way, ", ")
		for _, client := range []string{"sends", "has sent"} {
			t.Run(way+", "+whose+", the client "+client, func(t *testing.T) {
				begun, done := make(chan struct{}), make(chan error, 1)
				h := newHub()
				h.calls = &streams.ServerCallbacks[streams.None, response]{OnDone: func(_ *watcher, err error) { done <- err }}
				handed := func(st duplex) error {
					_, err := streams.Bidi(st, &streams.ServerCallbacks[request, response]{
						OnMessage: func(*streams.Server[request, response], *request) { close(begun) },
						OnDone:    func(_ *streams.Server[request, response], err error) { done <- err },
					}, nil)
					return err
				}
				r := newRig(t, &service{down: h.watch, duplex: handed}, options[whose])
				stub := r.client
				if way == "ServeHTTP" {
					stub = clientOf(overHTTP(t, r.server))
				}
				var recv func() error
				if client == "sends" {
					st, err := stub.FullDuplexCall(r.ctx)
					if err != nil {
						t.Fatal(err)
					}
					if err := st.Send(ask("x")); err != nil {
						t.Fatal(err)
					}
					await(t, begun, "a message")
					recv = func() error { _, err := st.Recv(); return err }
				} else {
					st, err := stub.StreamingOutputCall(r.ctx, &request{})
					if err != nil {
						t.Fatal(err)
					}
					await(t, h.added, "a stream")
					recv = func() error { _, err := st.Recv(); return err }
				}
				(*end.Load())()
				if err := await(t, done, "OnDone"); status.Code(err) != codes.Canceled {
					t.Errorf("OnDone: %v", err)
				}
				if err := recv(); status.Code(err) != codes.Canceled {
					t.Errorf("the client: %v", err)
				}
			})
		}
	}
}
