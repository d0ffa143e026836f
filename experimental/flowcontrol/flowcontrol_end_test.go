// SPDX-License-Identifier: Apache-2.0

package flowcontrol_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/experimental/flowcontrol"
	"google.golang.org/grpc/experimental/streams"
	"google.golang.org/grpc/internal/testservice"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"
)

// ended fails unless a stream that its client has not read was ended by MaxEndWait, and the place it
// had under MaxConcurrentStreams is free.
func ended(t *testing.T, client testpb.TestServiceClient, st testservice.DuplexClient) {
	t.Helper()
	if _, err := client.EmptyCall(testservice.Context(t), &testpb.Empty{}); err != nil {
		t.Errorf("the place is not free: %v", err)
	}
	if err := drain(st); status.Code(err) != codes.Canceled {
		t.Errorf("the stream ended with %v", err)
	}
}

// MaxEndWait holds for streams that were handed over, once OnDone has returned.
func TestMaxEndWaitOfHandedStreams(t *testing.T) {
	type server = streams.Server[testpb.StreamingOutputCallRequest, testpb.StreamingOutputCallResponse]
	done := make(chan struct{})
	calls := &streams.ServerCallbacks[testpb.StreamingOutputCallRequest, testpb.StreamingOutputCallResponse]{
		OnDone: func(*server, error) { close(done) },
	}
	s := testservice.Start(t, &testservice.Functions{Stream: func(st testservice.Duplex) error {
		w, err := streams.Bidi(st, calls, nil)
		if err != nil {
			return err
		}
		for range 10 {
			if err := w.Send(big()); err != nil {
				return err
			}
		}
		return w.Finish(nil)
	}}, grpc.MaxConcurrentStreams(1), flowcontrol.MaxEndWait(20*time.Millisecond))
	_, client := s.Dial(t, static...)
	st := open(t, client)
	testservice.Await(t, done, "OnDone")
	ended(t, client, st)
}

// A client that reads slowly, but does, is not cut off.
func TestMaxEndWaitLetsSlowClientsRead(t *testing.T) {
	const messages, wait = 10, 3 * time.Second
	returned := make(chan struct{})
	s := testservice.Start(t, &testservice.Functions{Stream: func(st testservice.Duplex) error {
		defer close(returned)
		for range messages {
			if err := st.Send(big()); err != nil {
				return err
			}
		}
		return nil
	}}, flowcontrol.MaxEndWait(wait))
	_, client := s.Dial(t, static...)
	st := open(t, client)
	got := 0
	for {
		if _, err := st.Recv(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("after %d messages: %v", got, err)
		}
		if got++; got > messages-4 { // the handler returns about then
			<-time.After(wait / 3) // for longer than wait in all
		}
	}
	<-returned
	if got != messages {
		t.Errorf("%d messages came", got)
	}
}

// Behind net/http there always is room, and nothing is bound.
func TestRoomBehindHTTP(t *testing.T) {
	result := make(chan error, 1)
	s := testservice.StartHTTP(t, &testservice.Functions{Stream: func(st testservice.Duplex) error {
		if !flowcontrol.HasRoom(st) || flowcontrol.WaitForRoom(context.Background(), st) != nil {
			return errors.New("there is no room")
		}
		go func() { <-time.After(50 * time.Millisecond); result <- nil }()
		for range 20 { // more than there is room for
			if err := st.Send(big()); err != nil {
				return err
			}
		}
		return nil
	}}, flowcontrol.MaxSendWait(time.Millisecond), flowcontrol.MaxEndWait(time.Millisecond))
	_, client := s.Dial(t, static...)
	st := open(t, client)
	testservice.Await(t, result, "the time")
	if err := drain(st); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}

// MaxEndWait holds for unary replies.
func TestMaxEndWaitOfReplies(t *testing.T) {
	s := testservice.Start(t, &testservice.Functions{Unary: func(context.Context, *testpb.SimpleRequest) (*testpb.SimpleResponse, error) {
		return &testpb.SimpleResponse{Payload: &testpb.Payload{Body: make([]byte, 200_000)}}, nil
	}}, flowcontrol.MaxEndWait(20*time.Millisecond))
	raw := testservice.DialRaw(t, s.Addr)
	raw.Begin(1, testpb.TestService_UnaryCall_FullMethodName)
	const endStream = 1
	raw.Frame(testservice.FrameData, endStream, 1, make([]byte, 5)) // an empty message; 65,535 bytes of the reply fit
	const cancel = 8
	if code := raw.Until(testservice.FrameRSTStream); code[3] != cancel {
		t.Errorf("the stream was reset with %v", code)
	}
}
