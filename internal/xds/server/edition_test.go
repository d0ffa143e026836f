// SPDX-License-Identifier: Apache-2.0

package server

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/internal/readyreader"
	"google.golang.org/grpc/internal/rpcconfig"
	"google.golang.org/grpc/internal/tlsconn"
	"google.golang.org/grpc/internal/xds/handshake"
	"google.golang.org/grpc/internal/xds/resource"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// noListener is one below.
type noListener struct{}

func (noListener) Accept() (net.Conn, error) { return nil, io.EOF }
func (noListener) Close() error              { return nil }
func (noListener) Addr() net.Addr            { return &net.TCPAddr{} }

// listener returns one with an edition in force, whose only chain has these routes.
func listener(rc *resource.RouteConfig, filters ...resource.Filter) *Listener {
	return listenerOn(noListener{}, rc, filters...)
}

func listenerOn(lis net.Listener, rc *resource.RouteConfig, filters ...resource.Filter) *Listener {
	l := &Listener{Listener: lis, options: Options{DrainGrace: time.Minute}, cancel: func() {}, routes: map[string]*routes{}}
	config := &resource.ServerListener{Default: &resource.FilterChain{HTTP: &resource.HTTP{Routes: rc, Filters: filters}}}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next = l.newEditionLocked(config)
	l.proceedLocked()
	return l
}

// accept takes a connection that has a peer.
func accept(t *testing.T, l *Listener) (c *conn, peer net.Conn) {
	t.Helper()
	raw, peer := net.Pipe()
	c = &conn{Conn: raw, listener: l}
	if !(Source{}).Admit(c) {
		t.Fatal("the connection is refused")
	}
	return c, peer
}

// serve has a connection served, and returns how often it was drained.
func serve(t *testing.T, c *conn) *int {
	t.Helper()
	drained := new(int)
	if r, err := (Source{}).Router(rpcconfig.Conn{Accepted: c, Drain: func() { *drained++ }}); err != nil || r != c.chain.router {
		t.Fatal(r, err)
	}
	return drained
}

func (l *Listener) replace(e *edition) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.replaceLocked(e)
}

func wantConns(t *testing.T, e *edition, conns, shaking int) {
	t.Helper()
	e.listener.mu.Lock()
	defer e.listener.mu.Unlock()
	if len(e.conns) != conns || e.shaking != shaking {
		t.Errorf("%d connections, %d in their handshakes; want %d and %d", len(e.conns), e.shaking, conns, shaking)
	}
}

func TestA36DrainGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := listener(&resource.RouteConfig{})
		e := l.current
		served, peer := accept(t, l)
		drained := serve(t, served)
		shaking, peer2 := accept(t, l)
		closed, _ := accept(t, l)
		closed.Close()
		closed.Close()
		wantConns(t, e, 2, 1)
		l.replace(nil)
		synctest.Wait()
		late := serve(t, shaking) // its handshake took that long
		synctest.Wait()
		if *drained != 1 || *late != 1 {
			t.Errorf("drained %d times, and %d", *drained, *late)
		}
		raw, _ := net.Pipe()
		if (Source{}).Admit(&conn{Conn: raw, listener: l}) {
			t.Error("a connection is taken with nothing in force")
		}
		begin := time.Now()
		for _, p := range []net.Conn{peer, peer2} {
			if _, err := p.Read(make([]byte, 1)); err != io.EOF {
				t.Error(err)
			}
		}
		if d := time.Since(begin); d != time.Minute {
			t.Errorf("closed after %v", d)
		}
		synctest.Wait()
		wantConns(t, e, 0, 0)
		l.Close()
	})
}

// TestNoGraceTimer: the timer does not outlive the connections.
func TestNoGraceTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := listener(&resource.RouteConfig{})
		e := l.current
		c, _ := accept(t, l)
		serve(t, c)
		l.replace(nil)
		c.Close()
		if e.grace.Stop() {
			t.Error("the timer runs")
		}
		l.Close()
	})
}

// TestCertificatesStay: they are given up when an edition's last handshake is over.
func TestCertificatesStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := listener(&resource.RouteConfig{})
		e := l.current
		tls := handshake.NewServer(&resource.ServerTLS{Identity: resource.CertProvider{Instance: "none"}}, nil)
		for _, c := range e.chains {
			c.tls = tls
		}
		c, _ := accept(t, l)
		l.replace(nil)
		shake := func() error {
			raw, _ := net.Pipe()
			_, _, err := tls.Handshake(t.Context(), raw)
			return err
		}
		open := shake()
		if ctx, s, below := c.XDSHandshake(); s != tls || below != net.Conn(c) || ctx.Done() != nil {
			t.Errorf("%v, %v, %v", ctx, s, below)
		}
		c.Close()
		synctest.Wait()
		if err := shake(); err == nil || errors.Is(err, open) || err.Error() == open.Error() {
			t.Errorf("%v, and before %v", err, open)
		}
		l.Close()
	})
}

// TestIdleHoldsNone: a connection of the listener's is read on its socket, as any.
func TestIdleHoldsNone(t *testing.T) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := listenerOn(lis, &resource.RouteConfig{})
	defer l.Close()
	client, err := net.Dial("tcp", lis.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if !readyreader.NewSocket(c).Can().Has(readyreader.ReadsReady | readyreader.TriesWrites | readyreader.OnSocket) {
		t.Error("an idle connection would hold a buffer")
	}
	if _, ok := tlsconn.New(c, &tls.Config{}, tlsconn.Options{Server: true}); !ok {
		t.Error("an idle connection with TLS would hold buffers")
	}
}

func TestOtherListeners(t *testing.T) {
	raw, _ := net.Pipe()
	if !(Source{}).Admit(raw) {
		t.Error("the connection is refused")
	}
	if r, err := (Source{}).Router(rpcconfig.Conn{Accepted: raw}); r != nil || err != nil {
		t.Error(r, err)
	}
}

func TestNoTCP(t *testing.T) {
	lis, err := net.Listen("unix", t.TempDir()+"/s")
	if err != nil {
		t.Fatal(err)
	}
	defer lis.Close()
	if _, err := Listen(lis, Options{}); err == nil {
		t.Error("a unix socket is accepted")
	}
}
