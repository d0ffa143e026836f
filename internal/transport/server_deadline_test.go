// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"io"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/transport/grpcwire"
	"google.golang.org/grpc/status"
)

// TestServerDeadline has calls whose deadline only the server knows, so that all that ends
// them comes from there: a reset, whatever the handler does.
func TestServerDeadline(t *testing.T) {
	var got error // by the handler
	for name, handle := range map[string]func(*ServerStream){
		"waiting for the context": func(s *ServerStream) {
			<-s.Context().Done()
			got = s.Context().Err()
			_ = s.Finish(status.New(codes.Unknown, "too late"))
		},
		"receiving": func(s *ServerStream) {
			for got = nil; got == nil; {
				var m grpcwire.Message
				if m, got = s.Recv(); got == nil {
					m.Data.Free()
				}
			}
			_ = s.Finish(status.New(codes.Unknown, "too late"))
		},
		"sending": func(s *ServerStream) {
			for got = nil; got == nil; got = s.Send(payload(make([]byte, 32<<10))) {
			}
			_ = s.Finish(status.New(codes.Unknown, "too late"))
		},
		"sending after it": func(s *ServerStream) {
			outwait(s)
			got = s.Send(payload([]byte("x")))
			_ = s.Finish(nil)
		},
		"faster than the timer": func(s *ServerStream) {
			outwait(s)
			s.asContext().cancel(expired) // its first half
			got = s.Finish(status.New(codes.Unknown, "too late"))
		},
		"replying after it":  func(s *ServerStream) { outwait(s); got = s.Reply(payload([]byte("x"))) },
		"finishing after it": func(s *ServerStream) { outwait(s); got = s.Finish(nil) },
	} {
		t.Run(name, func(t *testing.T) {
			var ran atomic.Bool
			returned := make(chan struct{})
			s := startServer(t, "tcp", ServerConfig{}, func(st *ServerStream) {
				defer close(returned)
				ran.Store(true)
				handle(st)
			})
			c, _ := s.dial(nil)
			p := payload([]byte{})
			st, err := c.NewStream(context.Background(), &Call{Method: "/test.Echo/Any", timeout: "50m", MaxRecvMsgSize: 1 << 20}, &p, false)
			if err != nil {
				t.Fatal(err)
			}
			for err == nil {
				m, recvErr := st.Recv()
				if err = recvErr; err == nil {
					m.Data.Free()
				}
			}
			end := st.Status()
			if !ran.Load() && end.Code() == codes.DeadlineExceeded {
				return // too late to begin
			}
			want := "stream terminated by RST_STREAM with error code: CANCEL"
			if err != io.EOF || end.Code() != codes.Canceled || end.Message() != want {
				t.Errorf("the client is told %v, %v; want %v: %s", err, end, codes.Canceled, want)
			}
			<-returned
			if want := context.DeadlineExceeded; got != want && status.Code(got) != codes.DeadlineExceeded {
				t.Errorf("the handler is told %v, want %v", got, want)
			}
		})
	}
}

// outwait returns when the deadline has passed, which the stream does not notice by itself.
func outwait(s *ServerStream) {
	for at, _ := s.Context().Deadline(); time.Now().Before(at); {
		runtime.Gosched()
	}
}

func TestSetDeadline(t *testing.T) {
	for timeout, passed := range map[time.Duration]bool{0: true, 1: true, time.Hour: false, 1<<63 - 1: false} {
		var c callContext
		c.setDeadline(timeout)
		at, ok := c.Deadline()
		for passed && !time.Now().After(at) { // the clock is coarser than that
			runtime.Gosched()
		}
		if !ok || c.passed() != passed {
			t.Errorf("%v: a deadline: %v, passed: %v, want %v", timeout, ok, c.passed(), passed)
		}
	}
}
