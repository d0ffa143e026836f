// SPDX-License-Identifier: Apache-2.0

package streams_test

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/experimental/streams"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
)

type (
	listener      = streams.Client[streams.None, response]
	listenerCalls = streams.ClientCallbacks[streams.None, response]
	talker        = streams.Client[request, response]
	talkerCalls   = streams.ClientCallbacks[request, response]
	sender        = streams.Client[upload, summary]
)

func text(m *response) string { return string(m.GetPayload().GetBody()) }

// Both sides without a goroutine: what one sends comes back in order, and the end, too.
func TestClientBidi(t *testing.T) {
	const n = 100
	done := make(chan error, 1)
	r := newRig(t, &service{duplex: handOver(echoing(done), nil)})
	got, over := make(chan string, n), make(chan error, 1)
	c := r.talk(t, &talkerCalls{
		OnMessage: func(_ *talker, m *response) { got <- text(m) },
		OnDone:    func(_ *talker, err error) { over <- err },
	}, nil)
	for i := range n {
		if err := c.Send(ask(strconv.Itoa(i))); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.CloseSend(); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if m := await(t, got, "an answer"); m != strconv.Itoa(i) {
			t.Fatalf("%s, want %d", m, i)
		}
	}
	if err := await(t, over, "the client's OnDone"); err != nil {
		t.Error(err)
	}
	if err := await(t, done, "the server's OnDone"); err != nil {
		t.Error(err)
	}
	if err := c.Send(ask("late")); err == nil {
		t.Error("a message was sent after the end")
	}
}

// Watches hold no goroutine, on either side.
func TestClientNoGoroutine(t *testing.T) {
	const n = 200
	h := newHub()
	r := newRig(t, &service{down: h.watch})
	got, over := make(chan string, n), make(chan error, n)
	calls := &listenerCalls{
		OnMessage: func(_ *listener, m *response) { got <- text(m) },
		OnDone:    func(_ *listener, err error) { over <- err },
	}
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	for range n {
		if _, err := streams.OpenServerStreaming(calls, nil, func(o grpc.CallOption) (grpc.ServerStreamingClient[response], error) {
			return r.client.StreamingOutputCall(ctx, &request{}, o)
		}); err != nil {
			t.Fatal(err)
		}
		await(t, h.added, "a stream")
	}
	for _, w := range h.all {
		if err := w.Send(reply("news")); err != nil {
			t.Fatal(err)
		}
	}
	for range n {
		await(t, got, "a message")
	}
	deadline := time.Now().Add(patience)
	for runtime.NumGoroutine() > n/4 {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines for %d streams", runtime.NumGoroutine(), n)
		}
		runtime.Gosched()
	}
	cancel()
	for range n {
		if err := await(t, over, "OnDone"); status.Code(err) != codes.Canceled {
			t.Error(err)
		}
	}
}

func TestClientEnds(t *testing.T) {
	tests := []struct {
		name string
		end  func(r *rig, w *watcher)
		want codes.Code
	}{
		{"success", func(_ *rig, w *watcher) { _ = w.Finish(nil) }, codes.OK},
		{"status", func(_ *rig, w *watcher) { _ = w.Finish(status.Error(codes.DataLoss, "")) }, codes.DataLoss},
		{"channel closed", func(r *rig, _ *watcher) { r.cc.Close() }, codes.Canceled},
		{"connection lost", func(r *rig, _ *watcher) { r.server.Stop() }, codes.Unavailable},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h := newHub()
			r := newRig(t, &service{down: h.watch})
			over := make(chan error, 1)
			if _, err := streams.OpenServerStreaming(&listenerCalls{OnDone: func(_ *listener, err error) { over <- err }}, nil,
				func(o grpc.CallOption) (grpc.ServerStreamingClient[response], error) {
					return r.client.StreamingOutputCall(r.ctx, &request{}, o)
				}); err != nil {
				t.Fatal(err)
			}
			test.end(r, await(t, h.added, "the stream"))
			if err := await(t, over, "OnDone"); status.Code(err) != test.want {
				t.Errorf("%v, want %v", err, test.want)
			}
		})
	}
}

// The one response of a method whose client streams.
func TestClientStreaming(t *testing.T) {
	got, over := make(chan int32, 1), make(chan error, 1)
	var size atomic.Int32
	r := newRig(t, &service{up: func(st upwards) error {
		_, err := streams.ClientStreaming(st, &streams.ServerCallbacks[upload, summary]{
			OnMessage: func(_ *streams.Server[upload, summary], m *upload) { size.Add(int32(len(m.GetPayload().GetBody()))) },
			OnHalfClose: func(s *streams.Server[upload, summary]) {
				_ = s.Send(&summary{AggregatedPayloadSize: size.Load()})
				_ = s.Finish(nil)
			},
		}, nil)
		return err
	}})
	c, err := streams.OpenClientStreaming(&streams.ClientCallbacks[upload, summary]{
		OnMessage: func(_ *sender, m *summary) { got <- m.GetAggregatedPayloadSize() },
		OnDone:    func(_ *sender, err error) { over <- err },
	}, nil, func(o grpc.CallOption) (grpc.ClientStreamingClient[upload, summary], error) {
		return r.client.StreamingInputCall(r.ctx, o)
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := c.Send(&upload{Payload: ask("four").GetPayload()}); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if n := await(t, got, "the summary"); n != 12 {
		t.Errorf("%d bytes, want 12", n)
	}
	if err := await(t, over, "OnDone"); err != nil {
		t.Error(err)
	}
}

// unreadable is a codec that can't decode.
type unreadable struct{ encoding.CodecV2 }

func (unreadable) Name() string                         { return "proto" }
func (unreadable) Unmarshal(mem.BufferSlice, any) error { return errors.New("unreadable") }

// replyAndStay is a handler that replies early, and closes ended when its client is gone.
func replyAndStay(ended chan<- struct{}) func(upwards) error {
	return func(st upwards) error {
		defer close(ended)
		if err := st.SendMsg(&summary{}); err != nil {
			return err
		}
		<-st.Context().Done()
		return nil
	}
}

// A reply that can't be read ends the RPC at once, though the server goes on.
func TestClientStreamingBadReply(t *testing.T) {
	over, ended := make(chan error, 1), make(chan struct{})
	r := newRig(t, &service{up: replyAndStay(ended)})
	_, err := streams.OpenClientStreaming(&streams.ClientCallbacks[upload, summary]{
		OnMessage: func(*sender, *summary) { t.Error("OnMessage") },
		OnDone:    func(_ *sender, err error) { over <- err },
	}, nil, func(o grpc.CallOption) (grpc.ClientStreamingClient[upload, summary], error) {
		return r.client.StreamingInputCall(r.ctx, o, grpc.ForceCodecV2(unreadable{encoding.GetCodecV2("proto")}))
	})
	if err != nil {
		t.Fatal(err)
	}
	err = await(t, over, "OnDone")
	if want := "grpc: failed to unmarshal the received message: unreadable"; status.Code(err) != codes.Internal || status.Convert(err).Message() != want {
		t.Errorf("%v, want Internal %q", err, want)
	}
	await(t, ended, "the end of the handler")
}

// A reply that can be read waits for the status behind it.
func TestClientStreamingEarlyReply(t *testing.T) {
	got, over, finish := make(chan struct{}, 1), make(chan error, 1), make(chan error)
	r := newRig(t, &service{up: func(st upwards) error {
		if err := st.SendMsg(&summary{}); err != nil {
			return err
		}
		return <-finish
	}})
	for _, want := range []codes.Code{codes.OK, codes.Aborted} {
		c, err := streams.OpenClientStreaming(&streams.ClientCallbacks[upload, summary]{
			OnMessage: func(*sender, *summary) { got <- struct{}{} },
			OnDone:    func(_ *sender, err error) { over <- err },
		}, nil, func(o grpc.CallOption) (grpc.ClientStreamingClient[upload, summary], error) {
			return r.client.StreamingInputCall(r.ctx, o)
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Header(); err != nil {
			t.Fatal(err)
		}
		finish <- status.New(want, "").Err()
		if err := await(t, over, "OnDone"); status.Code(err) != want {
			t.Errorf("%v, want %v", err, want)
		}
		if n := len(got); n != 0 != (want == codes.OK) {
			t.Errorf("%v: %d messages", want, n)
		} else if n > 0 {
			<-got
		}
	}
}

// An RPC that fails before it has an answer is tried again, with nobody waiting for it.
func TestClientRetries(t *testing.T) {
	var calls atomic.Int32
	h := newHub()
	r := newRig(t, &service{down: func(req *request, st downwards) error {
		if calls.Add(1) < 3 {
			return status.Error(codes.Unavailable, "not yet")
		}
		return h.watch(req, st)
	}})
	cc, err := grpc.NewClient(r.cc.Target(), grpc.WithTransportCredentials(plain()), grpc.WithDefaultServiceConfig(`{
		"methodConfig": [{"name": [{}], "retryPolicy": {"maxAttempts": 4, "initialBackoff": "0.01s", "maxBackoff": "0.01s",
		"backoffMultiplier": 1, "retryableStatusCodes": ["UNAVAILABLE"]}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	defer cc.Close()
	got, over := make(chan string, 1), make(chan error, 1)
	c, err := streams.OpenServerStreaming(&listenerCalls{
		OnMessage: func(_ *listener, m *response) { got <- text(m) },
		OnDone:    func(_ *listener, err error) { over <- err },
	}, nil, func(o grpc.CallOption) (grpc.ServerStreamingClient[response], error) {
		return clientOf(cc).StreamingOutputCall(r.ctx, &request{}, o)
	})
	if err != nil {
		t.Fatal(err)
	}
	w := await(t, h.added, "the third attempt")
	w.SetTrailer(metadata.Pairs("k", "v"))
	_ = w.Send(reply("at last"))
	_ = w.Finish(nil)
	if m := await(t, got, "a message"); m != "at last" {
		t.Error(m)
	}
	if err := await(t, over, "OnDone"); err != nil || c.Trailer().Get("k") == nil {
		t.Error(err, c.Trailer())
	}
}

// anew is a stream that begins another RPC, once, when its own has failed.
type anew struct {
	grpc.ClientStream
	begin func() (grpc.ClientStream, error)
}

func (a *anew) RecvMsg(m any) error {
	err := a.ClientStream.RecvMsg(m)
	if a.begin == nil || status.Code(err) != codes.Unavailable {
		return err
	}
	begin := a.begin
	a.begin = nil
	next, err := begin()
	if err != nil {
		return err
	}
	a.ClientStream = next
	return next.RecvMsg(m)
}

// tagging is a stats handler that calls a function for each attempt that begins.
type tagging func()

func (f tagging) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { f(); return ctx }
func (tagging) HandleRPC(context.Context, stats.RPCStats)                         {}
func (tagging) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (tagging) HandleConn(context.Context, stats.ConnStats)                       {}

// The program sends while an interceptor begins the RPC anew: there is no stream yet that could take it.
func TestClientBegunAnew(t *testing.T) {
	var (
		calls, begun atomic.Int32
		release      = make(chan struct{})
		over         = make(chan error, 1)
		c            *talker
	)
	r := newRig(t, &service{duplex: func(duplex) error {
		<-release
		if calls.Add(1) == 1 {
			return status.Error(codes.Unavailable, "not yet")
		}
		return nil
	}})
	tag := tagging(func() {
		if begun.Add(1) == 2 {
			if err := c.TrySend(&request{}); err == nil {
				t.Error("sent while there is no stream")
			}
		}
	})
	intercept := func(ctx context.Context, d *grpc.StreamDesc, cc *grpc.ClientConn, method string, next grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
		begin := func() (grpc.ClientStream, error) { return next(ctx, d, cc, method, opts...) }
		st, err := begin()
		return &anew{st, begin}, err
	}
	cc, err := grpc.NewClient(r.cc.Target(), grpc.WithTransportCredentials(plain()), grpc.WithStatsHandler(tag), grpc.WithStreamInterceptor(intercept))
	if err != nil {
		t.Fatal(err)
	}
	defer cc.Close()
	c, err = streams.OpenBidi(&talkerCalls{OnDone: func(_ *talker, err error) { over <- err }}, nil,
		func(o grpc.CallOption) (grpc.BidiStreamingClient[request, response], error) {
			return clientOf(cc).FullDuplexCall(r.ctx, o)
		})
	if err != nil {
		t.Fatal(err)
	}
	close(release)
	if err := await(t, over, "OnDone"); err != nil || begun.Load() != 2 {
		t.Error(err, begun.Load())
	}
}

// An interceptor that keeps the option to itself, and a channel of another kind.
func TestOptionLost(t *testing.T) {
	_, err := streams.Open[request, response](nil, nil, func(grpc.CallOption) (grpc.ClientStream, error) { return nil, nil })
	if status.Code(err) != codes.Unimplemented {
		t.Error(err)
	}
	want := errors.New("its own")
	if _, err = streams.Open[request, response](nil, nil, func(grpc.CallOption) (grpc.ClientStream, error) { return nil, want }); err != want {
		t.Error(err)
	}
}

// A client's callback that does not return ends the RPC also after CloseSend.
func TestPanicAfterCloseSend(t *testing.T) {
	opts := &streams.Options{Recover: func(v any) error { return status.Error(codes.DataLoss, v.(string)) }}
	for want, end := range map[codes.Code]func(){
		codes.DataLoss: func() { panic("of the test") },
		codes.Internal: runtime.Goexit,
	} {
		done, over := make(chan error, 1), make(chan error, 1)
		r := newRig(t, &service{duplex: handOver(&bidiCalls{
			OnHalfClose: func(s *bidi) { _ = s.Send(reply("x")) },
			OnDone:      func(_ *bidi, err error) { done <- err },
		}, nil)})
		c := r.talk(t, &talkerCalls{
			OnMessage: func(*talker, *response) { end() },
			OnDone:    func(_ *talker, err error) { over <- err },
		}, opts)
		if err := c.CloseSend(); err != nil {
			t.Error(err)
		}
		if err := await(t, over, "the client's OnDone"); status.Code(err) != want {
			t.Errorf("the client's OnDone has %v, want %v", err, want)
		}
		if err := await(t, done, "the server's OnDone"); status.Code(err) != codes.Canceled {
			t.Errorf("the server's OnDone has %v", err)
		}
	}
}

// panickingServer is what a client and OnDone are told of an RPC whose callback panics on the server.
func panickingServer(t *testing.T, opts *streams.Options) (client, onDone error) {
	t.Helper()
	done := make(chan error, 1)
	r := newRig(t, &service{duplex: handOver(&bidiCalls{
		OnMessage: func(*bidi, *request) { panic("of the test") },
		OnDone:    func(_ *bidi, err error) { done <- err },
	}, opts)})
	st, err := r.client.FullDuplexCall(r.ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Send(ask("x")); err != nil {
		t.Fatal(err)
	}
	_, client = st.Recv()
	return client, await(t, done, "OnDone")
}

// A callback that panics ends the RPC, where Options say so, and only it.
func TestPanics(t *testing.T) {
	opts := &streams.Options{Recover: func(v any) error { return status.Error(codes.DataLoss, v.(string)) }}
	theirs, ours := panickingServer(t, opts)
	if status.Code(theirs) != codes.DataLoss || status.Code(ours) != codes.DataLoss {
		t.Errorf("the client has %v, OnDone %v", theirs, ours)
	}
	done, over := make(chan error, 1), make(chan error, 1)
	r := newRig(t, &service{duplex: handOver(echoing(done), nil)})
	c := r.talk(t, &talkerCalls{
		OnMessage: func(*talker, *response) { runtime.Goexit() },
		OnDone:    func(_ *talker, err error) { over <- err },
	}, opts)
	if err := c.Send(ask("x")); err != nil && !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	if err := await(t, over, "the client's OnDone"); status.Code(err) != codes.Internal {
		t.Error(err)
	}
	if err := await(t, done, "the server's OnDone"); status.Code(err) != codes.Canceled {
		t.Error(err)
	}
}

// OnFinish functions may use the Client that a policy ends, also if they have to wait for who sends.
func TestOnFinishUsesClient(t *testing.T) {
	done, finished := make(chan error, 1), make(chan error, 1)
	r := newRig(t, &service{duplex: func(st grpc.BidiStreamingServer[request, response]) error {
		<-st.Context().Done()
		return nil
	}})
	begun := make(chan *talker, 1)
	opts := &streams.Options{Full: streams.End, Status: status.New(codes.OK, "does not end an RPC")}
	c := r.talk(t, &talkerCalls{OnDone: func(_ *talker, err error) { done <- err }}, opts, grpc.OnFinish(func(error) { finished <- (<-begun).Send(ask("x")) }))
	begun <- c
	var err error
	for err == nil {
		err = c.Send(ask(strings.Repeat("x", 16<<10)))
	}
	if err != streams.ErrNoRoom {
		t.Error(err)
	}
	if err := await(t, finished, "OnFinish"); err == nil {
		t.Error("a message was accepted after the end")
	}
	if err := await(t, done, "OnDone"); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("OnDone has %v", err)
	}
}

// Where Options do not say otherwise, a callback's panic ends the process, also if it holds a lock that OnDone takes.
func TestPanicEndsProcess(t *testing.T) {
	const mark = "GRPC_TEST_PANICS=1"
	if !slices.Contains(os.Environ(), mark) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestPanicEndsProcess$")
		cmd.Env = append(os.Environ(), mark)
		if out, err := cmd.CombinedOutput(); err == nil || ctx.Err() != nil || !strings.Contains(string(out), "panic: of the test") {
			t.Errorf("%v, %v: %s", err, ctx.Err(), out)
		}
		return
	}
	var mu sync.Mutex
	r := newRig(t, &service{duplex: handOver(&bidiCalls{OnMessage: func(s *bidi, _ *request) { _ = s.Send(reply("x")) }}, nil)})
	c := r.talk(t, &talkerCalls{
		OnMessage: func(*talker, *response) { mu.Lock(); panic("of the test") },
		OnDone:    func(*talker, error) { mu.Lock() },
	}, nil)
	if err := c.Send(ask("x")); err != nil {
		t.Error(err)
	}
	<-r.ctx.Done()
}
