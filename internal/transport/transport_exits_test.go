// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/park"
	"google.golang.org/grpc/internal/transport/h2"
	"google.golang.org/grpc/metadata"
)

// leaver is code of the program that leaves its goroutine when it is told to, once, and if a function is given not
// before it is called by that.
type leaver struct {
	by    func()
	in    string
	left  chan struct{} // is closed before; nil: nothing is
	armed atomic.Bool
}

func (l *leaver) call() {
	if !l.armed.Load() {
		return
	}
	stack := make([]byte, 16<<10)
	if strings.Contains(string(stack[:runtime.Stack(stack, false)]), l.in) && l.armed.Swap(false) {
		if l.left != nil {
			close(l.left)
		}
		l.by()
	}
}

// countsInput is a wrapper that names whose reads are its own, and counts them.
type countsInput struct {
	net.Conn
	*leaver
}

func (c *countsInput) ReadsOf() net.Conn { return c.Conn }
func (c *countsInput) CountRead(int)     { c.call() }

func (c *countsInput) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.call()
	return n, err
}

// countsOutput is the same for writes.
type countsOutput struct {
	net.Conn
	*leaver
}

func (c *countsOutput) WritesOf() net.Conn { return c.Conn }
func (c *countsOutput) CountWritten(int)   { c.call() }

func (c *countsOutput) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.call()
	return n, err
}

// writes is a wrapper of which only its Write is known.
type writes struct {
	net.Conn
	*leaver
}

func (c *writes) Write(p []byte) (int, error) {
	c.call()
	return c.Conn.Write(p)
}

// over is the configuration of a client whose connection is what wrap makes of the socket.
func over(wrap func(net.Conn) net.Conn) *ClientConfig {
	return &ClientConfig{UserAgent: "test/1", Dial: func(ctx context.Context, addr string) (net.Conn, error) {
		nc, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		if err != nil {
			return nil, err
		}
		return wrap(nc), nil
	}}
}

// recovered makes a panic of the program an error, as a program may.
func recovered(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = r.(error)
		}
	}()
	return f()
}

var errOfProgram = errors.New("of the program")

// TestInlineReaderIsLeft: a connection ends, and its stream is told, if the program's code ends the goroutine that reads
// for itself, or if that panics and the program recovers and goes on.
func TestInlineReaderIsLeft(t *testing.T) {
	for name, by := range map[string]func(){
		"Goexit":            runtime.Goexit,
		"a panic recovered": func() { panic(errOfProgram) },
	} {
		t.Run(name, func(t *testing.T) {
			l := &leaver{by: by, in: "h2.(*InlineReader).Read(", left: make(chan struct{})}
			srv := startServer(t, "tcp", ServerConfig{}, echoStream)
			c, n := srv.dial(over(func(nc net.Conn) net.Conn { return &countsInput{nc, l} }))
			s, over := waitsBy(t, c, func(s talk) error {
				for {
					if err := recovered(s.receive); err != nil || !l.armed.Load() {
						return err
					}
				}
			})
			l.armed.Store(true)
			for left := false; !left; { // the goroutine may have to come back first, to read for itself
				s.send("b")
				select {
				case <-l.left:
					left = true
				case <-time.After(10 * time.Millisecond):
				}
			}
			if name != "Goexit" {
				<-over // it has recovered
			}
			err := s.receive()
			for err == nil {
				err = s.receive()
			}
			if err != io.EOF || s.Status().Code() != codes.Unavailable {
				t.Error(err, s.Status())
			}
			if err := <-n.closed; !errors.Is(err, h2.ErrReaderLeft) {
				t.Error(err)
			}
		})
	}
}

// TestWriterIsLeft: the same for a goroutine that writes, whichever that is.
func TestWriterIsLeft(t *testing.T) {
	for name, wrap := range map[string]func(net.Conn, *leaver) net.Conn{
		"Write":        func(nc net.Conn, l *leaver) net.Conn { return &writes{nc, l} },
		"CountWritten": func(nc net.Conn, l *leaver) net.Conn { return &countsOutput{nc, l} },
	} {
		t.Run(name, func(t *testing.T) {
			l := &leaver{by: runtime.Goexit}
			srv := startServer(t, "tcp", ServerConfig{}, echoStream)
			c, n := srv.dial(over(func(nc net.Conn) net.Conn { return wrap(nc, l) }))
			s := startTalk(t, c)
			s.send("a")
			s.hear("a")
			l.armed.Store(true)
			sent := make(chan struct{})
			go func() {
				defer close(sent)
				s.send("b")
			}()
			<-sent
			for s.receive() == nil {
			}
			if s.Status().Code() != codes.Unavailable {
				t.Error(s.Status())
			}
			if err := <-n.closed; err == nil {
				t.Error("it was closed without an error")
			}
		})
	}
}

// leaves is a listener of connections whose CountWritten is code of the program.
type leaves struct {
	net.Listener
	*leaver
}

func (l leaves) Accept() (net.Conn, error) {
	nc, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &countsOutput{nc, l.leaver}, nil
}

func startLeaving(t *testing.T, l *leaver, handle func(*ServerStream)) *testServer {
	t.Helper()
	lis, err := listen(t, "tcp")
	if err != nil {
		t.Fatal(err)
	}
	return startServerOn(t, leaves{lis, l}, ServerConfig{}, handle)
}

// TestHeadersAreLeft: a handler that has left the sending of its headers by a panic, and recovered, can end its call.
func TestHeadersAreLeft(t *testing.T) {
	l := &leaver{by: func() { panic(errOfProgram) }, in: "(*ServerStream).Send("}
	needsParking(t)
	began, may, finished := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	srv := startLeaving(t, l, func(s *ServerStream) {
		close(began)
		<-may
		if err := recovered(func() error { return s.Send(payload([]byte("a"))) }); err != errOfProgram {
			t.Error(err)
		}
		finished <- s.Finish(nil)
	})
	c, _ := srv.dial(nil)
	s := startTalk(t, c)
	s.send("a")
	<-began
	waitFor(t, "both sides to be quiet", func() bool { return park.ReadStats().Parked == 2 })
	l.armed.Store(true)
	close(may)
	for s.receive() == nil {
	}
	if s.Status().Code() != codes.Unavailable {
		t.Error(s.Status())
	}
	if err := <-finished; err == nil {
		t.Error("it was finished on a connection that is lost")
	}
	if err := <-srv.closed; err == nil {
		t.Error("it was closed without an error")
	}
}

// TestStartIsLeft: a connection ends whose first write has ended the goroutine that starts it.
func TestStartIsLeft(t *testing.T) {
	l := &leaver{by: runtime.Goexit}
	l.armed.Store(true)
	srv := startLeaving(t, l, echoStream)
	nc, err := net.Dial("tcp", srv.lis.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if err := <-srv.closed; err == nil {
		t.Error("it was closed without an error")
	}
}

// TestGoAwayIsLeft: so does one whose reader is ended by the write that tells the peer which rule it has broken.
func TestGoAwayIsLeft(t *testing.T) {
	lis, err := listen(t, "tcp")
	if err != nil {
		t.Fatal(err)
	}
	defer lis.Close()
	srv := &testServer{t: t, lis: lis}
	l := &leaver{by: runtime.Goexit, in: "(*reader).sayGoAway("}
	cfg := srv.prepare(over(func(nc net.Conn) net.Conn { return &countsOutput{nc, l} }))
	peers := make(chan net.Conn, 1)
	go func() {
		nc, err := lis.Accept()
		if err != nil {
			return
		}
		_, _ = nc.Write([]byte{0, 0, 0, 4, 0, 0, 0, 0, 0}) // SETTINGS
		peers <- nc
	}()
	c, n := srv.connect(cfg)
	nc := <-peers
	defer nc.Close()
	s := startTalk(t, c)
	l.armed.Store(true)
	_, _ = nc.Write([]byte{0, 0, 8, 6, 0, 0, 0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8}) // a PING of a stream
	if err := s.receive(); err != io.EOF || s.Status().Code() != codes.Unavailable {
		t.Error(err, s.Status())
	}
	if err := <-n.closed; err == nil {
		t.Error("it was closed without an error")
	}
}

// TestReplyIsLeft: the context of a unary call ends whose reply has ended the handler's goroutine, and so does its Finish,
// which comes late.
func TestReplyIsLeft(t *testing.T) {
	needsParking(t)
	l := &leaver{by: runtime.Goexit, in: "(*ServerStream).Reply(", left: make(chan struct{})}
	began, may, finished := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	var ctx context.Context
	srv := startLeaving(t, l, func(s *ServerStream) {
		defer func() { finished <- s.Finish(nil) }()
		ctx = s.Context()
		close(began)
		<-may
		if err := s.SetHeader(metadata.Pairs("a", "b")); err != nil {
			t.Error(err)
		}
		echoUnary(s)
	})
	c, _ := srv.dial(nil)
	replied := make(chan error, 1)
	go func() {
		_, err := unary(context.Background(), c, []byte("a"))
		replied <- err
	}()
	<-began
	waitFor(t, "both sides to be quiet", func() bool { return park.ReadStats().Parked == 2 })
	l.armed.Store(true)
	close(may)
	<-l.left
	<-finished
	<-ctx.Done()
	<-replied // it may have come whole
	if err := <-srv.closed; err == nil {
		t.Error("it was closed without an error")
	}
}
