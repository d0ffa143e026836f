// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/transport/h2"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// TestReplyTooLarge has response headers and trailers that are more than the client takes:
// the call ends all the same, and says why if that fits.
func TestReplyTooLarge(t *testing.T) {
	large := metadata.Pairs("large", strings.Repeat("x", 1000))
	const reset = "stream terminated by RST_STREAM with error code: INTERNAL_ERROR"
	for name, tt := range map[string]struct {
		handle func(*ServerStream) error
		fits   bool // a status in place of them
	}{
		"SendHeader": {func(s *ServerStream) error {
			err := s.SendHeader(large)
			if late := s.Finish(nil); late != errFinished {
				t.Errorf("Finish after it: %v", late)
			}
			return err
		}, true},
		"Send": {func(s *ServerStream) error {
			_ = s.SetHeader(large)
			err := s.Send(payload([]byte("x")))
			if late := s.Send(payload([]byte("x"))); late == nil {
				t.Error("Send after it succeeds")
			}
			_ = s.Finish(nil)
			return err
		}, true},
		"Reply":  {func(s *ServerStream) error { _ = s.SetHeader(large); return s.Reply(payload([]byte("x"))) }, true},
		"Finish": {func(s *ServerStream) error { _ = s.SetHeader(large); return s.Finish(nil) }, true},
		"both": {func(s *ServerStream) error {
			_, _ = s.SetHeader(large), s.SetTrailer(large)
			return s.Finish(nil)
		}, true},
		"trailers":          {func(s *ServerStream) error { _ = s.SetTrailer(large); return s.Finish(nil) }, false},
		"trailers of Reply": {func(s *ServerStream) error { _ = s.SetTrailer(large); return s.Reply(payload([]byte("x"))) }, false},
		"status": {func(s *ServerStream) error {
			return s.Finish(status.New(codes.NotFound, strings.Repeat("x", 1000)))
		}, false},
	} {
		for _, limit := range []uint32{600, 10} {
			t.Run(fmt.Sprint(name, limit), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					told := make(chan error, 1)
					s := startServer(t, "memory", ServerConfig{}, func(s *ServerStream) { told <- tt.handle(s) })
					c, n := s.dial(&ClientConfig{Tuning: Tuning{MaxHeaderListSize: &limit}})
					ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
					defer cancel()
					_, err := unary(ctx, c, []byte("x"))
					handlerErr := <-told
					if status.Code(handlerErr) != codes.Internal || !strings.Contains(handlerErr.Error(), "header list size") {
						t.Errorf("the handler is told %v", handlerErr)
					}
					want := reset
					if tt.fits && limit > 10 {
						want = status.Convert(handlerErr).Message()
					}
					if status.Code(err) != codes.Internal || status.Convert(err).Message() != want {
						t.Errorf("the client is told %v, want %s", err, want)
					}
					s.each(func(c *Server) {
						if st := c.Stats(); st.Succeeded+st.Failed != 1 {
							t.Errorf("%+v", st)
						}
						c.Drain("")
					})
					<-n.closed // or the bubble is deadlocked
				})
			})
		}
	}
}

// TestHeadersFirst has a goroutine that is about to send the response headers, and
// others that send what has to follow them.
func TestHeadersFirst(t *testing.T) {
	for name, then := range map[string]func(*ServerStream) error{
		"Send":   func(s *ServerStream) error { return s.Send(payload([]byte("x"))) },
		"Reply":  func(s *ServerStream) error { return s.Reply(payload([]byte("x"))) },
		"Finish": func(s *ServerStream) error { return s.Finish(nil) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := startServer(t, "memory", ServerConfig{}, func(s *ServerStream) {
					_ = s.SetHeader(metadata.Pairs("k", "v"))
					var f h2.Frames
					s.mu.Lock()
					s.takeHeaders(&f)
					s.mu.Unlock()
					done := make(chan error)
					go func() { done <- then(s) }()
					synctest.Wait()
					select {
					case <-done:
						t.Error("sent without headers")
						return
					default:
					}
					if err := s.send(f); err != nil {
						t.Error(err)
					}
					if err := <-done; err != nil {
						t.Error(err)
					}
					_ = s.Finish(nil)
				})
				c, _ := s.dial(nil)
				st, err := c.NewStream(context.Background(), &Call{Method: "/test.Echo/Any", MaxRecvMsgSize: 1 << 20}, nil, true)
				if err != nil {
					t.Fatal(err)
				}
				for err == nil {
					_, err = st.Recv()
				}
				if got := st.Header()["k"]; err != io.EOF || st.Status() != nil || len(got) != 1 {
					t.Errorf("%v, %v, %v", err, st.Status(), got)
				}
			})
		})
	}
}

// TestAfterFinish has the handler go on after the end.
func TestAfterFinish(t *testing.T) {
	md := metadata.Pairs("k", "v")
	done := make(chan struct{})
	s := startServer(t, "tcp", ServerConfig{}, func(s *ServerStream) {
		defer close(done)
		_ = s.Finish(nil)
		for name, late := range map[string]func() error{
			"SetHeader":       func() error { return s.SetHeader(md) },
			"SendHeader":      func() error { return s.SendHeader(md) },
			"SetTrailer":      func() error { return s.SetTrailer(md) },
			"SetSendCompress": func() error { return s.SetSendCompress("gzip") },
			"Send":            func() error { return s.Send(payload([]byte("x"))) },
			"Reply":           func() error { return s.Reply(payload([]byte("x"))) },
			"Finish":          func() error { return s.Finish(nil) },
		} {
			if err := late(); err == nil {
				t.Errorf("%s succeeds", name)
			}
		}
		// Reply reads this without the lock once the call is finished.
		for name, late := range map[string]func(metadata.MD) error{"SetHeader": s.SetHeader, "SetTrailer": s.SetTrailer} {
			if err := late(metadata.Pairs("no key", "v")); err == nil || s.cold().spoilt != nil {
				t.Errorf("%s of what can't be sent: %v; the call is spoilt: %v", name, err, s.cold().spoilt)
			}
		}
	})
	c, _ := s.dial(nil)
	if _, err := unary(context.Background(), c, []byte("x")); err != nil {
		t.Error(err)
	}
	<-done
}

// TestDecide: what is set after Decide does not change how the call ends.
func TestDecide(t *testing.T) {
	s := startServer(t, "tcp", ServerConfig{}, func(s *ServerStream) {
		if st := s.Decide(nil); st != nil {
			t.Error(st)
		}
		if err := s.SetTrailer(metadata.Pairs("no key", "v")); err == nil {
			t.Error("SetTrailer took a key that can't be sent")
		}
		if err := s.Reply(payload([]byte("x"))); err != nil {
			t.Error(err)
		}
	})
	c, _ := s.dial(nil)
	if _, err := unary(context.Background(), c, []byte("x")); err != nil {
		t.Error(err)
	}
}
