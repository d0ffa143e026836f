// SPDX-License-Identifier: Apache-2.0

package flowcontrol_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/experimental/flowcontrol"
	"google.golang.org/grpc/experimental/servercontrol"
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/internal/testservice"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

func big() *testpb.StreamingOutputCallResponse {
	return &testpb.StreamingOutputCallResponse{Payload: &testpb.Payload{Body: make([]byte, 64<<10)}}
}

func bigRequest() *testpb.StreamingOutputCallRequest {
	return &testpb.StreamingOutputCallRequest{Payload: &testpb.Payload{Body: make([]byte, 64<<10)}}
}

// fill sends until there is no room, and checks that WaitForRoom then ends with its context.
func fill(st testservice.Duplex) error {
	for n := 0; flowcontrol.HasRoom(st); n++ {
		if n == 1000 {
			return errors.New("there is room without end")
		}
		if err := st.Send(big()); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	if err := flowcontrol.WaitForRoom(ctx, st); !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("the wait ended with %w", err)
	}
	return nil
}

// fillThen is a handler that calls then once there is no room. It tells full.
func fillThen(full chan<- error, then func(testservice.Duplex) error) *testservice.Functions {
	return &testservice.Functions{Stream: func(st testservice.Duplex) error {
		err := fill(st)
		full <- err
		if err != nil {
			return err
		}
		return then(st)
	}}
}

// static has windows that do not grow, so that there is an end of room.
var static = []grpc.DialOption{grpc.WithStaticStreamWindowSize(64 << 10), grpc.WithStaticConnWindowSize(1 << 20)}

func open(t *testing.T, client testpb.TestServiceClient) testservice.DuplexClient {
	t.Helper()
	st, err := client.FullDuplexCall(testservice.Context(t))
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// drain reads a stream to its end.
func drain(st testservice.DuplexClient) error {
	for {
		if _, err := st.Recv(); err != nil {
			return err
		}
	}
}

// A handler knows whether there is room, and can wait for it.
func TestWishIsThereRoom(t *testing.T) {
	filled := make(chan error, 1)
	s := testservice.Start(t, fillThen(filled, func(st testservice.Duplex) error {
		if err := flowcontrol.WaitForRoom(st.Context(), st); err != nil || !flowcontrol.HasRoom(st) {
			return fmt.Errorf("no room came: %w", err)
		}
		return nil
	}))
	_, client := s.Dial(t, static...)
	st := open(t, client)
	if err := testservice.Await(t, filled, "the end of room"); err != nil {
		t.Fatal(err)
	}
	if err := drain(st); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}

// A Send that waits for too long fails the RPC, whatever the handler returns.
func TestWishMaxSendWait(t *testing.T) {
	result := make(chan error, 1)
	s := testservice.Start(t, &testservice.Functions{Stream: func(st testservice.Duplex) error {
		for {
			if err := st.Send(big()); err != nil {
				result <- err
				return nil
			}
		}
	}}, flowcontrol.MaxSendWait(10*time.Millisecond))
	_, client := s.Dial(t, static...)
	st := open(t, client)
	if err := testservice.Await(t, result, "the end of Send"); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("Send ended with %v", err)
	}
	if err := drain(st); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("the RPC ended with %v", err)
	}
}

// Limits of 0 and below are no limits, as with MaxEndWait: without room, Send waits for it.
func TestNoMaxSendWait(t *testing.T) {
	full := make(chan error, 1)
	s := testservice.Start(t, fillThen(full, func(st testservice.Duplex) error { return st.Send(big()) }), flowcontrol.MaxSendWait(0))
	_, client := s.Dial(t, static...)
	st := open(t, client)
	if err := testservice.Await(t, full, "the end of room"); err != nil {
		t.Fatal(err)
	}
	if err := drain(st); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}

// The client reads only when the server has no room left; so it is the server's window that ends.
func TestNoClientMaxSendWait(t *testing.T) {
	full := make(chan struct{})
	s := testservice.Start(t, &testservice.Functions{Stream: func(st testservice.Duplex) error {
		select {
		case <-full:
		case <-st.Context().Done():
		}
		for {
			if _, err := st.Recv(); err != nil {
				return nil
			}
		}
	}}, grpc.StaticStreamWindowSize(64<<10), grpc.StaticConnWindowSize(1<<20))
	_, client := s.Dial(t, flowcontrol.WithMaxSendWait(-1))
	st := open(t, client)
	for flowcontrol.HasRoom(st) {
		if err := st.Send(bigRequest()); err != nil {
			t.Fatal(err)
		}
	}
	close(full)
	if err := st.Send(bigRequest()); err != nil {
		t.Error(err)
	}
	_ = st.CloseSend()
	if err := drain(st); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}

// A goroutine that still sends when its handler returns shares nothing with what the handler's end looks at: this is for the race
// detector.
func TestMaxSendWaitBesideTheHandler(t *testing.T) {
	sent, end := make(chan struct{}), make(chan error, 1)
	s := testservice.Start(t, &testservice.Functions{Stream: func(st testservice.Duplex) error {
		go func() {
			err := st.Send(new(testpb.StreamingOutputCallResponse))
			close(sent)
			for err == nil {
				err = st.Send(new(testpb.StreamingOutputCallResponse))
			}
			end <- err
		}()
		<-sent
		return nil
	}}, flowcontrol.MaxSendWait(10*time.Second))
	_, client := s.Dial(t, static...)
	if err := drain(open(t, client)); err != nil && !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	_ = testservice.Await(t, end, "the end of Send")
}

// The same for a client, whose RecvMsg tells as well, and who may ask for room.
func TestWishClientMaxSendWait(t *testing.T) {
	s := testservice.Start(t, &testservice.Functions{Stream: func(st testservice.Duplex) error {
		_ = st.SendHeader(nil)
		<-st.Context().Done()
		return nil
	}}, grpc.StaticStreamWindowSize(64<<10), grpc.StaticConnWindowSize(1<<20))
	_, client := s.Dial(t, flowcontrol.WithMaxSendWait(10*time.Millisecond))
	st := open(t, client)
	if _, err := st.Header(); err != nil {
		t.Fatal(err)
	}
	var err error
	full := false
	for err == nil {
		full = !flowcontrol.HasRoom(st)
		err = st.Send(bigRequest())
	}
	if status.Code(err) != codes.ResourceExhausted || !full {
		t.Errorf("Send ended with %v, without room: %v", err, full)
	}
	if _, err := st.Recv(); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("Recv ended with %v", err)
	}
}

// The place of a stream whose handler has returned is freed, though its client does not read.
func TestWishMaxEndWait(t *testing.T) {
	var c servercontrol.Control
	returned := make(chan error, 1)
	s := testservice.Start(t, &testservice.Functions{Stream: func(st testservice.Duplex) error {
		err := fill(st)
		returned <- err
		return err
	}}, grpc.MaxConcurrentStreams(1), flowcontrol.MaxEndWait(20*time.Millisecond), c.Option())
	_, client := s.Dial(t, static...)
	st := open(t, client)
	if err := testservice.Await(t, returned, "the handler's end"); err != nil {
		t.Fatal(err)
	}
	if _, err := client.EmptyCall(testservice.Context(t), &testpb.Empty{}); err != nil {
		t.Errorf("the place is not free: %v", err)
	}
	if err := drain(st); status.Code(err) != codes.Canceled {
		t.Errorf("the stream ended with %v", err)
	}
}

// A feed that leaves values out for a client that is behind.
func ExampleHasRoom() {
	send := func(stream grpc.ServerStreamingServer[testpb.StreamingOutputCallResponse], values <-chan *testpb.StreamingOutputCallResponse) error {
		for v := range values {
			if !flowcontrol.HasRoom(stream) {
				continue // the next one is as good
			}
			if err := stream.Send(v); err != nil {
				return err
			}
		}
		return nil
	}
	_ = send
	server := grpc.NewServer(flowcontrol.MaxSendWait(10*time.Second), flowcontrol.MaxEndWait(10*time.Second))
	server.Stop()
	// Output:
}
