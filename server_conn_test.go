// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/internal/testutils"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/peer"
)

// testCreds are credentials that only pass connections on.
type testCreds struct{}

func (testCreds) ClientHandshake(_ context.Context, _ string, c net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return c, testAuth{}, nil
}

func (testCreds) ServerHandshake(c net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return c, testAuth{}, nil
}
func (testCreds) Info() credentials.ProtocolInfo            { return credentials.ProtocolInfo{} }
func (c testCreds) Clone() credentials.TransportCredentials { return c }
func (testCreds) OverrideServerName(string) error           { return nil }

type testAuth struct{}

func (testAuth) AuthType() string { return "test" }

// slowCreds wait for a byte that never comes.
type slowCreds struct {
	testCreds
	entered chan struct{}
}

func (c *slowCreds) ServerHandshake(nc net.Conn) (net.Conn, credentials.AuthInfo, error) {
	c.entered <- struct{}{}
	_, err := nc.Read(make([]byte, 1))
	return nil, nil, err
}

func (c *slowCreds) Clone() credentials.TransportCredentials { return c }

// failingCreds fail every handshake.
type failingCreds struct {
	testCreds
	err error
	got chan net.Conn
}

func (c *failingCreds) ServerHandshake(nc net.Conn) (net.Conn, credentials.AuthInfo, error) {
	c.got <- nc
	return nil, nil, c.err
}

func (c *failingCreds) Clone() credentials.TransportCredentials { return c }

func TestServerCreds(t *testing.T) {
	e := newEcho()
	e.unary = func(ctx context.Context, _ *text) (*text, error) {
		p, ok := peer.FromContext(ctx)
		if !ok || p.AuthInfo == nil || p.Addr == nil || p.LocalAddr == nil {
			t.Errorf("peer = %v", p)
			return &text{}, nil
		}
		return &text{Value: p.AuthInfo.AuthType()}, nil
	}
	ts := serve(t, e, Creds(testCreds{}))
	connectSecure(t, ts, testCreds{}).unary(context.Background(), "").want(t, "test")
}

func TestServerHandshakeFails(t *testing.T) {
	creds := &failingCreds{err: errors.New("not you"), got: make(chan net.Conn, 1)}
	ts := serve(t, newEcho(), Creds(creds))
	nc, err := net.Dial("tcp", ts.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	within(t, creds.got, "the handshake")
	if _, err := nc.Read(make([]byte, 1)); err == nil {
		t.Error("the connection was left open")
	}
}

func TestServerHandshakeDispatched(t *testing.T) {
	creds := &failingCreds{err: credentials.ErrConnDispatched, got: make(chan net.Conn, 1)}
	ts := serve(t, newEcho(), Creds(creds))
	nc, err := net.Dial("tcp", ts.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	theirs := within(t, creds.got, "the handshake")
	defer theirs.Close()
	ts.mu.Lock()
	for len(ts.handshakes) > 0 { // credentials pass the connection on before they return
		ts.empty.Wait()
	}
	ts.mu.Unlock()
	ts.Stop() // does not close what is not the server's any more
	if _, err := theirs.Write([]byte{7}); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 1)
	if _, err := nc.Read(b); err != nil || b[0] != 7 {
		t.Errorf("read %v, %v", b, err)
	}
}

// deadlines tells which deadlines a connection gets.
type deadlines struct {
	net.Conn
	set chan<- time.Time
}

func (d deadlines) SetDeadline(at time.Time) error {
	d.set <- at
	return d.Conn.SetDeadline(at)
}

// TestServerDispatchesWithoutDeadline: who gets a connection from the credentials gets no deadline with it.
func TestServerDispatchesWithoutDeadline(t *testing.T) {
	creds := &failingCreds{err: credentials.ErrConnDispatched, got: make(chan net.Conn, 1)}
	set := make(chan time.Time, 10)
	ts := serveOn(t, testutils.WrapListener{Listener: listen(t), Wrap: func(c net.Conn) net.Conn { return deadlines{c, set} }}, newEcho(), Creds(creds))
	nc, err := net.Dial("tcp", ts.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	defer within(t, creds.got, "the handshake").Close()
	if at := within(t, set, "the handshake's deadline"); at.IsZero() {
		t.Error("the handshake has no deadline")
	}
	if at := within(t, set, "the end of the deadline"); !at.IsZero() {
		t.Errorf("then the deadline is %v", at)
	}
}

func TestServerConnectionTimeout(t *testing.T) {
	for name, opts := range map[string][]ServerOption{
		"handshake": {Creds(&slowCreds{entered: make(chan struct{}, 1)})},
		"preface":   nil,
	} {
		t.Run(name, func(t *testing.T) {
			ts := serve(t, newEcho(), append(opts, ConnectionTimeout(time.Millisecond))...)
			nc, err := net.Dial("tcp", ts.addr)
			if err != nil {
				t.Fatal(err)
			}
			defer nc.Close()
			if err := nc.SetReadDeadline(time.Now().Add(patience)); err != nil {
				t.Fatal(err)
			}
			buf := make([]byte, 1024)
			for err == nil { // the server's preface, and then the end
				_, err = nc.Read(buf)
			}
			var timeout net.Error
			if errors.As(err, &timeout) && timeout.Timeout() {
				t.Error("the connection was left open")
			}
		})
	}
}

func TestServerMaxConnectionIdle(t *testing.T) {
	ts := serve(t, newEcho(), KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: time.Millisecond}))
	c := connect(t, ts)
	if got := within(t, c.events.draining, "the GOAWAY"); got != "max_idle" {
		t.Errorf("GOAWAY with %q", got)
	}
	within(t, c.events.closed, "the connection's end")
}

func TestServerMaxConcurrentStreams(t *testing.T) {
	e, b := newBlocked()
	ts := serve(t, e, MaxConcurrentStreams(1))
	c := connect(t, ts)
	first := c.open(context.Background(), transport.Call{Method: "/test.Echo/Unary"})
	first.send("1")
	first.closeSend()
	within(t, b.began, "the handler")
	ctx, cancel := context.WithCancel(context.Background())
	opened := make(chan error)
	go func() {
		p := payload(t, "2", nil)
		_, err := c.NewStream(ctx, &transport.Call{Method: "/test.Echo/Unary"}, &p, true)
		opened <- err
	}()
	cancel()
	if err := within(t, opened, "NewStream"); !errors.Is(err, context.Canceled) {
		t.Errorf("NewStream over the limit: %v", err)
	}
	close(b.released)
	if m, ok := first.recv(); !ok || m != "1" {
		t.Errorf("got %q, %v", m, ok)
	}
	first.wantEnd(codes.OK, "")
}
