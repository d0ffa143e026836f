// SPDX-License-Identifier: Apache-2.0

package extproc

import (
	"context"
	"errors"
	"io"
	"runtime"
	"testing"

	procv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/rpcconfig"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// ending is a stream to an external processor that ends as soon as an event has been sent.
type ending struct {
	procv3.ExternalProcessor_ProcessClient
	after int // the number of events before that one
	end   func()
}

func (e *ending) Send(*procv3.ProcessingRequest) error {
	if e.after--; e.after < 0 {
		e.end()
	}
	return nil
}

func (e *ending) CloseSend() error { return nil }

// counted counts what an RPC's own server gets.
type counted struct{ messages, ends int }

func (c *counted) Header() (metadata.MD, error) { return nil, nil }
func (c *counted) Trailer() metadata.MD         { return nil }
func (c *counted) Context() context.Context     { return context.Background() }
func (c *counted) RecvMsg(any) error            { return io.EOF }

func (c *counted) CloseSend() error {
	c.ends++
	return nil
}

func (c *counted) SendMsg(any) error {
	c.messages++
	return nil
}

// TestEnding: a processor may end right after it got an event, before the goroutine that sent the
// event goes on. What it got is not lost.
func TestEnding(t *testing.T) {
	for _, tt := range []struct {
		name           string
		streams, fails bool
		after          int // 0: the message, 1: the end of the request
		messages, ends int
		err            error
	}{
		{"unary, fails at the message", false, true, 0, 1, 0, nil},
		{"unary, fails at the end", false, true, 1, 1, 0, nil},
		{"unary, ends at the message", false, false, 0, 0, 0, errKept},
		{"unary, ends at the end", false, false, 1, 0, 0, errKept},
		{"fails at the message", true, true, 0, 1, 1, nil},
		{"fails at the end", true, true, 1, 1, 1, nil},
		{"ends at the message", true, false, 0, 0, 1, nil},
		{"ends at the end", true, false, 1, 0, 1, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			st := &ending{after: tt.after}
			c := &Config{AllowFailure: true, Mode: Mode{Request: RequestMode{Messages: true}}}
			s := onStream(t, c, rpcconfig.RPC{ClientStreams: tt.streams, ServerStreams: tt.streams}, st)
			st.end = func() {
				if tt.fails {
					s.fail(io.ErrUnexpectedEOF)
				} else {
					s.process.end(nil)
				}
				if tt.err == nil {
					s.responses.mu.Lock() // keeps the sender where it no longer waits for the processor
				}
			}
			inner := &counted{}
			s.begin(func(context.Context) (rpcconfig.Stream, error) { return inner, nil })
			done := make(chan error)
			go func() {
				err := s.SendMsg(wrapperspb.String("a"))
				_ = s.CloseSend()
				done <- err
			}()
			<-s.sends.pumped
			if tt.err == nil {
				s.responses.mu.Unlock()
			}
			if err := <-done; err != nil {
				t.Error(err)
			}
			if err := s.failure(); inner.messages != tt.messages || inner.ends != tt.ends || !errors.Is(err, tt.err) {
				t.Errorf("the server got %d messages and %d ends, want %d and %d; %v, want %v", inner.messages, inner.ends, tt.messages, tt.ends, err, tt.err)
			}
			s.finish()
		})
	}
}

// TestSendThen: nobody gets the line between an event and what is noted about it.
func TestSendThen(t *testing.T) {
	s := onStream(t, &Config{}, rpcconfig.RPC{}, &ending{after: 1})
	noted := false
	if err := s.sendThen(s.halfCloseEvent(), func() { noted = !s.line.mu.TryLock() }); err != nil || !noted {
		t.Error(err, noted)
	}
	s.finish()
	if err := s.sendThen(s.halfCloseEvent(), func() { t.Error("noted, though not sent") }); !errors.Is(err, errOver) {
		t.Error(err)
	}
}

// TestReturnedIsNoMessage: the RPC fails if the processor returns what is no message for one that it got, also where
// its failures are allowed, or its stream is over by then: nobody can tell what to send in its place.
func TestReturnedIsNoMessage(t *testing.T) {
	for _, tt := range []struct{ streams, over bool }{{false, false}, {false, true}, {true, false}, {true, true}} {
		c := &Config{AllowFailure: true, Mode: Mode{Request: RequestMode{Messages: true}}}
		s := onStream(t, c, rpcconfig.RPC{ClientStreams: tt.streams, ServerStreams: tt.streams}, &ending{after: 100})
		inner := &counted{}
		if err := s.SendMsg(wrapperspb.String("a")); err != nil {
			t.Fatal(err)
		}
		if err := s.requests.accept(item{body: []byte{0xff}}); err != nil {
			t.Fatal(err)
		}
		if tt.over {
			s.process.end(nil)
		}
		s.begin(func(context.Context) (rpcconfig.Stream, error) { return inner, nil })
		<-s.sends.pumped
		if err := s.failure(); status.Code(err) != codes.Internal || inner.messages != 0 {
			t.Errorf("%+v: the server got %d messages; %v", tt, inner.messages, err)
		}
		s.finish()
	}
}

// strict fails a message after the end, as streams do.
type strict struct{ counted }

func (s *strict) SendMsg(m any) error {
	if s.ends > 0 {
		return status.Error(codes.Internal, "SendMsg called after CloseSend")
	}
	return s.counted.SendMsg(m)
}

// TestMessageAfterEarlyEnd: a message that the program sends after the processor has ended the request is dropped,
// also if the processor's own stream is over.
func TestMessageAfterEarlyEnd(t *testing.T) {
	for _, streams := range []bool{false, true} {
		c := &Config{Mode: Mode{Request: RequestMode{Messages: true}}}
		s := onStream(t, c, rpcconfig.RPC{ClientStreams: streams, ServerStreams: streams}, &ending{after: 100})
		inner := &strict{}
		s.begin(func(context.Context) (rpcconfig.Stream, error) { return inner, nil })
		if err := s.requests.accept(item{last: streams}); err != nil {
			t.Fatal(err)
		}
		s.process.end(nil)
		if err := s.SendMsg(wrapperspb.String("b")); err != nil {
			t.Error(err)
		}
		if err := s.CloseSend(); err != nil {
			t.Error(err)
		}
		if err := s.failure(); err != nil || inner.messages != 1 || inner.ends != 1 {
			t.Errorf("streams %t: the server got %d messages and %d ends; %v", streams, inner.messages, inner.ends, err)
		}
		s.finish()
	}
}

// TestDrainsOnce: requests to drain may come without end, and one goroutine is enough for them.
func TestDrainsOnce(t *testing.T) {
	s := onStream(t, &Config{}, rpcconfig.RPC{}, &ending{after: 100})
	defer s.finish()
	s.line.mu.Lock() // an event is being sent
	before := runtime.NumGoroutine()
	for range 1000 {
		if err := s.take(&procv3.ProcessingResponse{RequestDrain: true}); err != nil {
			t.Fatal(err)
		}
	}
	if n := runtime.NumGoroutine() - before; n > 100 {
		t.Errorf("%d goroutines drain", n)
	}
	s.line.mu.Unlock()
}
