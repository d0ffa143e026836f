// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/envconfig"
	"google.golang.org/grpc/internal/park"
	"google.golang.org/grpc/status"
)

// inlineReads is how many goroutines read for themselves.
func inlineReads() int {
	stacks := make([]byte, 1<<20)
	return strings.Count(string(stacks[:runtime.Stack(stacks, true)]), "h2.(*InlineReader).Read(")
}

// talk is a stream of messages to and fro.
type talk struct {
	*ClientStream
	t testing.TB
}

func startTalk(t testing.TB, c *Client) talk {
	t.Helper()
	st, err := c.NewStream(context.Background(), &Call{Method: "/test.Echo/Stream", MaxRecvMsgSize: 1 << 20, Watched: true}, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	return talk{st, t}
}

func (s talk) send(msg string) {
	s.t.Helper()
	if err := s.Send(payload([]byte(msg)), false); err != nil {
		s.t.Error(err)
	}
}

func (s talk) hear(want string) {
	s.t.Helper()
	m, err := s.Recv()
	if err != nil {
		s.t.Error(err, s.Status())
		return
	}
	if got := string(m.Data.ReadOnlyData()); got != want {
		s.t.Errorf("heard %d bytes, want %d", len(got), len(want))
	}
	m.Data.Free()
}

func (s talk) end() {
	s.t.Helper()
	_ = s.CloseSend()
	if m, err := s.Recv(); err != io.EOF || s.Status() != nil {
		s.t.Errorf("at the end: %v, %v, %v", m, err, s.Status())
	}
}

// receive receives a message, of any text.
func (s talk) receive() error {
	m, err := s.Recv()
	if err == nil {
		m.Data.Free()
	}
	return err
}

// waits has a stream on which messages went to and fro, and whose two ends wait for more now,
// each as the reader of its connection.
func waits(t *testing.T, c *Client) (s talk, heard <-chan error) {
	t.Helper()
	return waitsBy(t, c, talk.receive)
}

// waitsBy is waits for a client that waits by receive, whose result is heard.
func waitsBy(t *testing.T, c *Client, receive func(talk) error) (s talk, heard <-chan error) {
	t.Helper()
	if !park.Supported() || !(*park.Ground)(nil).Takes() || !envconfig.HTTPFramerReadBufferPooling {
		t.Skip("here a goroutine reads for those who wait")
	}
	s = startTalk(t, c)
	done := make(chan error, 1)
	for {
		for range 20 {
			s.send("a")
			s.hear("a")
		}
		go func() { done <- receive(s) }()
		reads := 0
		waitFor(t, "the two to wait", func() bool {
			stacks := make([]byte, 1<<20)
			all := string(stacks[:runtime.Stack(stacks, true)])
			reads = strings.Count(all, "h2.(*InlineReader).Read(")
			return strings.Count(all, "Stream).await(") == 2
		})
		if reads == 2 {
			return s, done
		}
		s.send("again")
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
}

// TestInlineReader: who waits for a message reads for itself, and whatever else it waits for ends that.
func TestInlineReader(t *testing.T) {
	for name, test := range map[string]func(*testing.T, *testServer, *Client, talk, <-chan error){
		"a message": func(t *testing.T, _ *testServer, _ *Client, s talk, heard <-chan error) {
			s.send("b")
			if err := <-heard; err != nil {
				t.Error(err)
			}
			s.end()
		},
		"cancelled": func(t *testing.T, _ *testServer, c *Client, s talk, heard <-chan error) {
			s.Cancel(context.Canceled)
			if err := <-heard; err != io.EOF || s.Status().Code() != codes.Canceled {
				t.Error(err, s.Status())
			}
			for range 3 {
				if got, err := unary(context.Background(), c, []byte("after")); err != nil || string(got) != "after" {
					t.Error(string(got), err)
				}
			}
		},
		"a call beside": func(t *testing.T, _ *testServer, c *Client, s talk, heard <-chan error) {
			for range 3 {
				if got, err := unary(context.Background(), c, []byte("beside")); err != nil || string(got) != "beside" {
					t.Error(string(got), err)
				}
			}
			s.send("b")
			if err := <-heard; err != nil {
				t.Error(err)
			}
			s.end()
		},
		"a large message": func(t *testing.T, _ *testServer, _ *Client, s talk, heard <-chan error) {
			s.send(strings.Repeat("x", 300<<10))
			if err := <-heard; err != nil {
				t.Error(err)
			}
			s.end()
		},
		"the connection ends": func(t *testing.T, srv *testServer, _ *Client, s talk, heard <-chan error) {
			srv.each(func(c *Server) { c.Close(io.ErrClosedPipe) })
			if err := <-heard; err != io.EOF || s.Status().Code() != codes.Unavailable {
				t.Error(err, s.Status())
			}
		},
		"the client closes": func(t *testing.T, _ *testServer, c *Client, s talk, heard <-chan error) {
			c.Close(io.ErrClosedPipe)
			if err := <-heard; err != io.EOF || s.Status().Code() != codes.Unavailable {
				t.Error(err, s.Status())
			}
		},
		"nothing for long": func(t *testing.T, _ *testServer, _ *Client, s talk, heard <-chan error) {
			waitFor(t, "both sides to park", func() bool { return inlineReads() == 0 && park.ReadStats().Parked == 2 })
			s.send("b")
			if err := <-heard; err != nil {
				t.Error(err)
			}
			s.end()
		},
	} {
		t.Run(name, func(t *testing.T) {
			srv := startServer(t, "tcp", ServerConfig{}, echoStream)
			c, _ := srv.dial(nil)
			s, heard := waits(t, c)
			test(t, srv, c, s, heard)
		})
	}
}

// TestLentAndLeft: who might have read does not come back, but ends, or is busy for long.
func TestLentAndLeft(t *testing.T) {
	srv := startServer(t, "tcp", ServerConfig{}, echoStream)
	c, _ := srv.dial(nil)
	s := startTalk(t, c)
	for range 50 {
		s.send("a")
		s.hear("a")
	}
	if got, err := unary(context.Background(), c, []byte("beside")); err != nil || string(got) != "beside" {
		t.Error(string(got), err)
	}
	waitFor(t, "both sides to park with nothing kept", func() bool {
		return !park.Supported() || (*park.Ground)(nil).Sweeper().Len() == 0
	})
	s.send("b")
	s.hear("b")
	s.end()
}

// TestInlineReaderAtRandom has connections with one stream and more, on which everything happens that
// can, at any time.
func TestInlineReaderAtRandom(t *testing.T) {
	const connections, rounds = 4, 60
	srv := startServer(t, "tcp", ServerConfig{}, echoStream)
	var wg sync.WaitGroup
	for seed := range uint64(connections) {
		c, _ := srv.dial(nil)
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(seed, 1))
			for range rounds {
				turnsOf(t, c, rng)
			}
		})
	}
	wg.Wait()
}

// turnsOf plays with one stream.
func turnsOf(t *testing.T, c *Client, rng *rand.Rand) {
	s := startTalk(t, c)
	for range rng.IntN(40) {
		msg := strings.Repeat("m", 1+rng.IntN(1<<rng.IntN(17)))
		s.send(msg)
		s.hear(msg)
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	switch rng.IntN(4) {
	case 0:
		s.end()
	case 1: // cancelled while it waits, or before
		wg.Go(func() { s.Cancel(context.Canceled) })
		if _, err := s.Recv(); err != io.EOF || status.Code(s.Status().Err()) != codes.Canceled {
			t.Error(err, s.Status())
		}
	case 2: // calls beside, of others
		for i := range 1 + rng.IntN(3) {
			wg.Go(func() {
				msg := fmt.Sprint("call ", i)
				if got, err := unary(context.Background(), c, []byte(msg)); err != nil || string(got) != msg {
					t.Error(string(got), err)
				}
			})
		}
		s.send("with them")
		s.hear("with them")
		s.end()
	default: // sent by another goroutine than receives
		n := rng.IntN(20)
		wg.Go(func() {
			for range n {
				s.send("from beside")
			}
		})
		for range n {
			s.hear("from beside")
		}
		wg.Wait()
		s.end()
	}
}
