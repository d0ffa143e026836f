// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/status"
)

// TestCutOff has a client say all, and the call cut off while the handler has taken only
// some of it: what the handler then sees is not the end of the client's messages.
func TestCutOff(t *testing.T) {
	for name, tt := range map[string]struct {
		cut  func(*Client, *ClientStream)
		want codes.Code
	}{
		"reset":      {func(_ *Client, s *ClientStream) { s.Cancel(context.Canceled) }, codes.Canceled},
		"connection": {func(c *Client, _ *ClientStream) { c.Close(errors.New("cut")) }, codes.Canceled},
		"deadline":   {func(*Client, *ClientStream) { time.Sleep(2 * time.Second) }, codes.DeadlineExceeded},
	} {
		for taken := range 4 {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { testCutOff(t, taken, tt.want, tt.cut) })
			})
		}
	}
}

func testCutOff(t *testing.T, taken int, want codes.Code, cut func(*Client, *ClientStream)) {
	gate, got := make(chan struct{}), make(chan error)
	s := startServer(t, "memory", ServerConfig{}, func(s *ServerStream) {
		s.Context().Done() // from here on a timer looks after the deadline
		for range taken {
			m, err := s.Recv()
			if err != nil {
				t.Error(err)
				break
			}
			m.Data.Free()
		}
		<-gate
		_, err := s.Recv()
		got <- err
		_ = s.Finish(nil)
	})
	c, _ := s.dial(nil)
	first := payload([]byte("message"))
	st, err := c.NewStream(context.Background(), &Call{Method: "/test.Echo/Stream", MaxRecvMsgSize: 1 << 20, timeout: "1S"}, &first, false)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if err := st.Send(payload([]byte("message")), i == 2); err != nil {
			t.Fatal(err)
		}
	}
	synctest.Wait()
	cut(c, st)
	synctest.Wait()
	close(gate)
	if err := <-got; err == io.EOF || status.Code(err) != want {
		t.Errorf("%d taken: the handler is told %v, want %v", taken, err, want)
	}
}

// TestReceiveAfterEnd has a goroutine receive that its handler has left behind.
func TestReceiveAfterEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := make(chan error)
		s := startServer(t, "memory", ServerConfig{}, func(s *ServerStream) {
			go func() {
				<-s.Context().Done()
				synctest.Wait()
				_, err := s.Recv()
				got <- err
			}()
			_ = s.Finish(nil)
		})
		c, _ := s.dial(nil)
		if _, err := unary(context.Background(), c, []byte("untaken")); err != nil {
			t.Errorf("the client is told %v", err)
		}
		if err := <-got; status.Code(err) != codes.Canceled {
			t.Errorf("the goroutine is told %v", err)
		}
	})
}

// TestCutOffWithHeaders has a client begin a call and reset it, all in one piece: its handler
// runs all the same, and learns of both.
func TestCutOffWithHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := make(chan error, 1)
		s := startServer(t, "memory", ServerConfig{}, func(s *ServerStream) {
			_, err := s.Recv()
			if s.Context().Err() == nil {
				t.Error("the context is not over")
			}
			got <- err
			_ = s.Finish(nil)
		})
		p := rawClient(t, s)
		synctest.Wait()
		p.write(slices.Concat(headers(false, requestFields),
			frame.AppendDataHeader(nil, 1, 3, false), []byte{0, 0, 0},
			frame.AppendRSTStream(nil, 1, frame.Cancel)))
		synctest.Wait()
		select {
		case err := <-got:
			if status.Code(err) != codes.Canceled {
				t.Errorf("the handler is told %v", err)
			}
		default:
			t.Error("no handler has run")
		}
	})
}

// TestSendAfterConn has a handler send when its connection is gone.
func TestSendAfterConn(t *testing.T) {
	for name, cut := range map[string]func(*testServer, *Client){
		"client": func(_ *testServer, c *Client) { c.Close(errors.New("cut")) },
		"server": func(s *testServer, _ *Client) { s.each(func(c *Server) { c.Close(errors.New("stopped")) }) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				gate, got := make(chan struct{}), make(chan error)
				s := startServer(t, "memory", ServerConfig{}, func(s *ServerStream) {
					<-gate
					got <- s.Send(payload([]byte("late")))
					_ = s.Finish(nil)
				})
				c, _ := s.dial(nil)
				if _, err := c.NewStream(t.Context(), &Call{Method: "/test.Echo/Stream", MaxRecvMsgSize: 1 << 20}, nil, false); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				cut(s, c)
				synctest.Wait()
				close(gate)
				if err := <-got; status.Code(err) != codes.Unavailable || status.Convert(err).Message() != "transport is closing" {
					t.Errorf("the handler is told %v", err)
				}
			})
		})
	}
}
