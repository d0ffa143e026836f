// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc/internal/envconfig"
	"google.golang.org/grpc/internal/park"
)

func TestOpenConns(t *testing.T) {
	waitFor(t, "those of other tests to end", func() bool { return OpenConns() == 0 })
	s := startServer(t, "tcp", ServerConfig{}, echoUnary)
	c, n := s.dial(nil)
	waitFor(t, "both ends", func() bool { return OpenConns() == 2 })
	c.Close(nil)
	<-n.closed
	waitFor(t, "the end of both", func() bool { return OpenConns() == 0 })
	if got := c.Stats(); got != (ConnStats{}) {
		t.Errorf("after the end %+v", got)
	}
}

func TestConnStats(t *testing.T) {
	const size = 20 << 10
	took := make(chan struct{})
	s := startServer(t, "tcp", ServerConfig{}, func(s *ServerStream) {
		select {
		case <-took:
		case <-s.Context().Done():
		}
		echoStream(s)
	})
	client, _ := s.dial(nil)
	began := time.Now()
	var server *Server
	s.each(func(c *Server) { server = c })

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	stream := func(ctx context.Context) *ClientStream {
		p := payload(make([]byte, size))
		st, err := client.NewStream(ctx, &Call{Method: "/test.Echo/Stream", MaxRecvMsgSize: 1 << 20}, &p, false)
		if err != nil {
			t.Fatal(err)
		}
		if err := st.Send(payload(make([]byte, size)), false); err != nil {
			t.Fatal(err)
		}
		return st
	}
	first, second := stream(ctx), stream(context.Background())
	waitFor(t, "the messages", func() bool { return server.Stats().Received == 4 })
	if got := server.Stats(); got.Streams != 2 || got.Started != 2 || got.Held < 4*size || got.Succeeded+got.Failed+got.Sent != 0 || got.LastReceived.Before(began) {
		t.Errorf("server with messages %+v", got)
	}
	if got := client.Stats(); got.Streams != 2 || got.Started != 2 || got.Sent != 4 || got.LastStream.Before(began) || got.SendWindow == 0 || got.RecvWindow == 0 {
		t.Errorf("client with streams %+v", got)
	}
	cancel()
	first.Cancel(ctx.Err())
	waitFor(t, "the end of the first", func() bool { return server.Stats().Failed == 1 && client.Stats().Failed == 1 })
	close(took)
	second.CloseSend()
	waitFor(t, "the replies", func() bool { return client.Stats().Received == 2 && client.Stats().Succeeded == 1 })
	for {
		m, err := second.Recv()
		if err != nil {
			break
		}
		m.Data.Free()
	}
	waitFor(t, "the end of the second", func() bool { return server.Stats().Succeeded == 1 })
	if got := server.Stats(); got.Sent != 2 || got.LastSent.Before(began) {
		t.Errorf("server at the end %+v", got)
	}
	if !park.Supported() || !envconfig.HTTPFramerReadBufferPooling {
		return
	}
	for _, of := range []func() ConnStats{client.Stats, server.Stats} {
		waitFor(t, "parking", func() bool { return of().Parked })
		if got := of(); got.Held != 0 || got.Streams != 0 {
			t.Errorf("parked %+v", got)
		}
	}
}

// wrapper reads and writes itself, and hides what is below.
type wrapper struct{ c net.Conn }

func (w *wrapper) Read(p []byte) (int, error)         { return w.c.Read(p) }
func (w *wrapper) Write(p []byte) (int, error)        { return w.c.Write(p) }
func (w *wrapper) Close() error                       { return w.c.Close() }
func (w *wrapper) LocalAddr() net.Addr                { return w.c.LocalAddr() }
func (w *wrapper) RemoteAddr() net.Addr               { return w.c.RemoteAddr() }
func (w *wrapper) SetDeadline(t time.Time) error      { return w.c.SetDeadline(t) }
func (w *wrapper) SetReadDeadline(t time.Time) error  { return w.c.SetReadDeadline(t) }
func (w *wrapper) SetWriteDeadline(t time.Time) error { return w.c.SetWriteDeadline(t) }

// A connection that is no socket keeps its read buffer, and never parks.
func TestReservedBytes(t *testing.T) {
	s := startServer(t, "tcp", ServerConfig{}, echoUnary)
	c, _ := s.dial(&ClientConfig{Dial: func(ctx context.Context, addr string) (net.Conn, error) {
		nc, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		return &wrapper{nc}, err
	}})
	waitFor(t, "the preface to be sent", func() bool { return c.Stats().Held == defaultReadBuffer })
	if c.Stats().Parked {
		t.Error("parked")
	}
}

// What waits for the peer's window is held.
func TestHeldBytes(t *testing.T) {
	wait := make(chan struct{})
	s := startServer(t, "tcp", ServerConfig{}, func(s *ServerStream) { <-wait; abort(s, 0) })
	defer close(wait)
	c, _ := s.dial(nil)
	own := 0 // a buffer that it keeps
	if !envconfig.HTTPFramerReadBufferPooling {
		own = defaultReadBuffer
	}
	p := payload(make([]byte, 1<<20))
	st, err := c.NewStream(context.Background(), &Call{Method: "/test.Echo/Stream"}, &p, false)
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the window to be used up", func() bool {
		n := c.Stats().Held
		return n > 512<<10 && n < 1<<20
	})
	st.Cancel(context.Canceled)
	waitFor(t, "the data to be dropped", func() bool { return c.Stats().Held == own })
}
