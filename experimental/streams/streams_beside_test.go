// SPDX-License-Identifier: Apache-2.0

package streams_test

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	pb "google.golang.org/grpc/binarylog/grpc_binarylog_v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/experimental/streams"
	"google.golang.org/grpc/internal/binarylog"
	"google.golang.org/grpc/internal/channelz"
	"google.golang.org/grpc/internal/testutils"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"
)

// channelz counts a stream that was handed over when it begins, and how it ended when it does.
func TestChannelz(t *testing.T) {
	if !testutils.InChild(t, "") {
		return
	}
	channelz.TurnOn()
	h := newHub()
	r := newRig(t, &service{down: h.watch})
	want := func(started, succeeded, failed int64) {
		t.Helper()
		for deadline := time.Now().Add(patience); ; runtime.Gosched() { // what is counted follows OnDone
			list, _ := channelz.Servers(channelz.Page{})
			d := list[0]
			if d.CallsStarted == started && d.CallsSucceeded == succeeded && d.CallsFailed == failed {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%d calls started, %d succeeded, %d failed; want %d, %d, %d",
					d.CallsStarted, d.CallsSucceeded, d.CallsFailed, started, succeeded, failed)
			}
		}
	}
	var all []*watcher
	for i := range int64(2) {
		if _, err := r.client.StreamingOutputCall(r.ctx, &request{}); err != nil {
			t.Fatal(err)
		}
		all = append(all, await(t, h.added, "a stream"))
		want(i+1, 0, 0)
	}
	_ = all[0].Finish(nil)
	want(2, 1, 0)
	_ = all[1].Finish(status.Error(codes.Aborted, "over"))
	want(2, 1, 1)
}

// serverLog keeps what a server's binary log has, as the types of the entries.
type serverLog struct{ types chan string }

func (l serverLog) Write(e *pb.GrpcLogEntry) error {
	if e.GetLogger() == pb.GrpcLogEntry_LOGGER_SERVER {
		l.types <- strings.TrimPrefix(e.GetType().String(), "EVENT_TYPE_")
	}
	return nil
}

func (serverLog) Close() error { return nil }

// The binary log of a stream that was handed over is that of any other.
func TestBinaryLog(t *testing.T) {
	if !testutils.InChild(t, "GRPC_BINARY_LOG_FILTER=*") {
		return
	}
	log := serverLog{make(chan string, 100)}
	binarylog.SetSink(log)
	defer binarylog.SetSink(nil)
	done := make(chan error, 1)
	r := newRig(t, &service{duplex: handOver(echoing(done), nil)})
	for name, end := range map[string]string{"half-close": "CLIENT_HALF_CLOSE SERVER_TRAILER", "cancel": "CANCEL"} {
		ctx, cancel := context.WithCancel(r.ctx)
		st, err := r.client.FullDuplexCall(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := st.Send(ask("x")); err != nil {
			t.Fatal(err)
		}
		if _, err := st.Recv(); err != nil {
			t.Fatal(err)
		}
		if name == "cancel" {
			cancel()
		} else if err := st.CloseSend(); err != nil {
			t.Fatal(err)
		}
		await(t, done, "OnDone")
		for _, want := range strings.Fields("CLIENT_HEADER CLIENT_MESSAGE SERVER_HEADER SERVER_MESSAGE " + end) {
			if got := await(t, log.types, want); got != want {
				t.Errorf("%s: %s, want %s", name, got, want)
			}
		}
		cancel()
	}
}

// A stream that was handed over has its place among those that may be open until it is finished.
func TestMaxConcurrentStreams(t *testing.T) {
	h := newHub()
	r := newRig(t, &service{down: h.watch}, grpc.MaxConcurrentStreams(1))
	for range 3 {
		st, err := r.client.StreamingOutputCall(r.ctx, &request{})
		if err != nil {
			t.Fatal(err)
		}
		w := await(t, h.added, "the stream")
		if err := w.Send(reply("hello")); err != nil {
			t.Fatal(err)
		}
		if _, err := st.Recv(); err != nil { // so the client knows of the limit
			t.Fatal(err)
		}
		short, cancel := context.WithTimeout(r.ctx, 20*time.Millisecond)
		if _, err := r.client.StreamingOutputCall(short, &request{}); status.Code(err) != codes.DeadlineExceeded {
			t.Errorf("beside a stream that was handed over: %v", err)
		}
		cancel()
		if err := w.Finish(nil); err != nil {
			t.Error(err)
		}
	}
}

// Messages over the limits end the RPC, whichever way they go.
func TestLimits(t *testing.T) {
	large := strings.Repeat("x", 2000)
	for name, row := range map[string]struct {
		limit grpc.ServerOption
		sends string // by the client; the answer is large
	}{
		"received": {grpc.MaxRecvMsgSize(1000), large},
		"sent":     {grpc.MaxSendMsgSize(1000), "x"},
	} {
		t.Run(name, func(t *testing.T) {
			done := make(chan error, 1)
			calls := &bidiCalls{
				OnMessage: func(s *bidi, _ *request) {
					if err := s.Send(reply(large)); status.Code(err) != codes.ResourceExhausted {
						t.Errorf("Send: %v", err)
					}
				},
				OnDone: func(_ *bidi, err error) { done <- err },
			}
			r := newRig(t, &service{duplex: handOver(calls, nil)}, row.limit)
			st, err := r.client.FullDuplexCall(r.ctx)
			if err != nil {
				t.Fatal(err)
			}
			if err := st.Send(ask(row.sends)); err != nil {
				t.Fatal(err)
			}
			if _, err := st.Recv(); status.Code(err) != codes.ResourceExhausted {
				t.Errorf("the client sees %v", err)
			}
			if err := await(t, done, "OnDone"); status.Code(err) != codes.ResourceExhausted {
				t.Errorf("OnDone: %v", err)
			}
		})
	}
}

// The hand-over itself, against everything that may end an RPC at that moment: OnDone is called
// once if it succeeded, and never if not; and Stop, which waits for handlers, returns.
func TestHandOverRaces(t *testing.T) {
	ends := map[string]func(*rig, context.CancelFunc){
		"cancel":          func(_ *rig, cancel context.CancelFunc) { cancel() },
		"deadline":        func(*rig, context.CancelFunc) {},
		"stop":            func(r *rig, _ context.CancelFunc) { r.server.Stop() },
		"graceful stop":   func(r *rig, _ context.CancelFunc) { go r.server.GracefulStop() },
		"connection lost": func(r *rig, _ context.CancelFunc) { r.cc.Close() },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			for i := range 30 {
				begun, result := make(chan struct{}), make(chan error, 1)
				done := make(chan error, 2)
				calls := &bidiCalls{OnDone: func(_ *bidi, err error) { done <- err }}
				s := &service{duplex: func(st duplex) error {
					close(begun)
					if i%3 == 0 {
						runtime.Gosched()
					}
					w, err := streams.Bidi(st, calls, nil)
					if err == nil && name == "graceful stop" {
						defer func() { _ = w.Finish(nil) }()
					}
					result <- err
					return err
				}}
				r := newRig(t, s, grpc.WaitForHandlers(true))
				if _, err := r.client.EmptyCall(r.ctx, &testpb.Empty{}); status.Code(err) != codes.Unimplemented {
					t.Fatal(err) // it is not served yet
				}
				ctx, cancel := context.WithCancel(r.ctx)
				if name == "deadline" {
					ctx, cancel = context.WithTimeout(r.ctx, time.Duration(i)*100*time.Microsecond)
				}
				st, err := r.client.FullDuplexCall(ctx)
				if err == nil {
					_ = st.Send(ask("x"))
				}
				if name == "deadline" { // which may be over before the handler began
					<-ctx.Done()
					r.server.Stop()
					select {
					case <-begun:
					default:
						cancel()
						continue
					}
				}
				await(t, begun, "the handler")
				end(r, cancel)
				if err := await(t, result, "the hand-over"); err == nil {
					await(t, done, "OnDone")
				}
				r.server.Stop()
				if len(done) > 0 {
					t.Errorf("OnDone once more: %v", <-done)
				}
				cancel()
			}
		})
	}
}
