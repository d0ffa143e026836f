// SPDX-License-Identifier: Apache-2.0

package streams_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/experimental/streams"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

type (
	bidi      = streams.Server[request, response]
	bidiCalls = streams.ServerCallbacks[request, response]
)

// echoing answers each message, and ends when the client has sent all.
func echoing(done chan<- error) *bidiCalls {
	return &bidiCalls{
		OnMessage:   func(s *bidi, m *request) { _ = s.Send(reply(string(m.GetPayload().GetBody()))) },
		OnHalfClose: func(s *bidi) { _ = s.Finish(nil) },
		OnDone:      func(_ *bidi, err error) { done <- err },
	}
}

func reply(text string) *response {
	return &response{Payload: &testpb.Payload{Body: []byte(text)}}
}

func ask(text string) *request {
	return &request{Payload: &testpb.Payload{Body: []byte(text)}}
}

func handOver(calls *bidiCalls, opts *streams.Options) func(duplex) error {
	return func(st duplex) error {
		_, err := streams.Bidi(st, calls, opts)
		return err
	}
}

func TestEcho(t *testing.T) {
	done := make(chan error, 1)
	r := newRig(t, &service{duplex: handOver(echoing(done), nil)})
	st, err := r.client.FullDuplexCall(r.ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"one", "two", strings.Repeat("three", 100_000)} {
		if err := st.Send(ask(text)); err != nil {
			t.Fatal(err)
		}
		m, err := st.Recv()
		if err != nil || string(m.GetPayload().GetBody()) != text {
			t.Fatalf("%d bytes came back, %v", len(m.GetPayload().GetBody()), err)
		}
	}
	_ = st.CloseSend()
	if _, err := st.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("the end is %v", err)
	}
	if err := await(t, done, "OnDone"); err != nil {
		t.Errorf("OnDone: %v", err)
	}
}

// TestSpoiltTrailer: a stream whose trailers can't be sent has not ended with success.
func TestSpoiltTrailer(t *testing.T) {
	done := make(chan error, 1)
	calls := echoing(done)
	calls.OnHalfClose = func(s *bidi) {
		s.SetTrailer(metadata.Pairs("x y", "1"))
		if err := s.Finish(nil); status.Code(err) != codes.Internal {
			t.Errorf("Finish: %v", err)
		}
	}
	r := newRig(t, &service{duplex: handOver(calls, nil)})
	st, err := r.client.FullDuplexCall(r.ctx)
	if err != nil {
		t.Fatal(err)
	}
	_ = st.CloseSend()
	if _, err := st.Recv(); status.Code(err) != codes.Internal {
		t.Errorf("the end is %v", err)
	}
	if err := await(t, done, "OnDone"); status.Code(err) != codes.Internal {
		t.Errorf("OnDone: %v", err)
	}
}

// A stream that was handed over has no goroutine, and ends however it may.
func TestEnds(t *testing.T) {
	tests := []struct {
		name   string
		end    func(r *rig, cancel context.CancelFunc, s *streams.Server[streams.None, response])
		server codes.Code // of OnDone
		client codes.Code
	}{
		{"finish", func(_ *rig, _ context.CancelFunc, s *streams.Server[streams.None, response]) { _ = s.Finish(nil) }, codes.OK, codes.OK},
		{"finish with a status", func(_ *rig, _ context.CancelFunc, s *streams.Server[streams.None, response]) {
			_ = s.Finish(status.Error(codes.DataLoss, "lost"))
		}, codes.DataLoss, codes.DataLoss},
		{"finish with an error", func(_ *rig, _ context.CancelFunc, s *streams.Server[streams.None, response]) {
			_ = s.Finish(errors.New("some"))
		}, codes.Unknown, codes.Unknown},
		{"cancel", func(_ *rig, cancel context.CancelFunc, _ *streams.Server[streams.None, response]) { cancel() }, codes.Canceled, codes.Canceled},
		{"close of the channel", func(r *rig, _ context.CancelFunc, _ *streams.Server[streams.None, response]) { r.cc.Close() }, codes.Unavailable, codes.Canceled},
		{"stop", func(r *rig, _ context.CancelFunc, _ *streams.Server[streams.None, response]) { r.server.Stop() }, codes.Unavailable, codes.Unavailable},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			handed := make(chan *streams.Server[streams.None, response], 1)
			done := make(chan error, 1)
			calls := &streams.ServerCallbacks[streams.None, response]{
				OnMessage:   func(*streams.Server[streams.None, response], *streams.None) { t.Error("OnMessage") },
				OnHalfClose: func(*streams.Server[streams.None, response]) { t.Error("OnHalfClose") },
				OnDone:      func(_ *streams.Server[streams.None, response], err error) { done <- err },
			}
			r := newRig(t, &service{down: func(_ *request, st downwards) error {
				s, err := streams.ServerStreaming(st, calls, nil)
				if err == nil {
					handed <- s
				}
				return err
			}})
			ctx, cancel := context.WithCancel(r.ctx)
			defer cancel()
			st, err := r.client.StreamingOutputCall(ctx, &request{})
			if err != nil {
				t.Fatal(err)
			}
			s := await(t, handed, "the stream")
			if err := s.Send(reply("first")); err != nil {
				t.Fatal(err)
			}
			if m, err := st.Recv(); err != nil || string(m.GetPayload().GetBody()) != "first" {
				t.Fatal(m, err)
			}
			test.end(r, cancel, s)
			_, err = st.Recv()
			if errors.Is(err, io.EOF) {
				err = nil
			}
			if status.Code(err) != test.client {
				t.Errorf("the client sees %v", err)
			}
			if err := await(t, done, "OnDone"); status.Code(err) != test.server {
				t.Errorf("OnDone: %v", err)
			}
			<-s.Context().Done()
			if err := s.Send(reply("late")); err == nil {
				t.Error("a message was sent after the end")
			}
			if err := s.Finish(nil); err == nil {
				t.Error("Finish after the end")
			}
		})
	}
}

func TestHandOverOfNothing(t *testing.T) {
	_, err := streams.HandOver[request, response](foreign{}, nil, nil)
	if status.Code(err) != codes.Unimplemented {
		t.Error(err)
	}
}

// foreign is a stream of somebody else's.
type foreign struct{ grpc.ServerStream }

func (foreign) Context() context.Context { return context.Background() }
