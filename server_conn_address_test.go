// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/internal/limits"
	"google.golang.org/grpc/internal/rpcconfig"
	"google.golang.org/grpc/internal/testutils"
)

// asking is a connection that waits for its peer when it is asked for its address, and has a deadline of its
// own for that, as those of the PROXY protocol have.
type asking struct{ net.Conn }

func (a asking) RemoteAddr() net.Addr {
	_ = a.Conn.SetReadDeadline(time.Now().Add(time.Hour))
	_, _ = a.Conn.Read(make([]byte, 1))
	_ = a.Conn.SetReadDeadline(time.Time{})
	return a.Conn.RemoteAddr()
}

func askingListener(t *testing.T) net.Listener {
	return testutils.WrapListener{Listener: listen(t), Wrap: func(c net.Conn) net.Conn { return asking{c} }}
}

// wantClosed reports an error if the server leaves a connection open, and says what it has sent on it.
func wantClosed(t *testing.T, nc net.Conn) (sent []byte) {
	t.Helper()
	if err := nc.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	for b := make([]byte, 1024); ; {
		n, err := nc.Read(b)
		sent = append(sent, b[:n]...)
		var timeout net.Error
		if errors.As(err, &timeout) && timeout.Timeout() {
			t.Error("the connection was left open")
		}
		if err != nil {
			return sent
		}
	}
}

// limitsOf is an option of package experimental/limits.
type limitsOf struct {
	EmptyServerOption
	limiter *limits.Limiter
}

func (l limitsOf) Limiter() *limits.Limiter { return l.limiter }

// TestServerConnectionTimeoutOfAddresses: a peer that sends nothing cannot hold a connection whose address it has to send.
func TestServerConnectionTimeoutOfAddresses(t *testing.T) {
	for name, opts := range map[string][]ServerOption{
		"peer":        nil,
		"credentials": {Creds(testCreds{})},
		"limits":      {limitsOf{limiter: limits.New(limits.Config{ConnectionsPerAddress: 9})}},
		"source":      {sourceOption{admits: func(c net.Conn) bool { return c.RemoteAddr() != nil }, f: routesNothing}},
	} {
		t.Run(name, func(t *testing.T) {
			ts := serveOn(t, askingListener(t), newEcho(), append(opts, ConnectionTimeout(time.Millisecond))...)
			nc, err := net.Dial("tcp", ts.addr)
			if err != nil {
				t.Fatal(err)
			}
			defer nc.Close()
			if sent := wantClosed(t, nc); len(sent) != 0 {
				t.Errorf("the server has sent %q", sent)
			}
		})
	}
}

func routesNothing(rpcconfig.Conn) (rpcconfig.Router, error) { return nil, nil }

// TestServerAsksNobodyInVain: who is told of a handshake that has failed is told without waiting for the peer.
func TestServerAsksNobodyInVain(t *testing.T) {
	creds := &failingCreds{err: errors.New("not you"), got: make(chan net.Conn, 1)}
	ts := serveOn(t, askingListener(t), newEcho(), Creds(creds))
	nc, err := net.Dial("tcp", ts.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	within(t, creds.got, "the handshake")
	wantClosed(t, nc)
}

// TestSourceRefuses: the client of a connection that the Source does not admit hears nothing, and others are served.
func TestSourceRefuses(t *testing.T) {
	var another atomic.Bool
	ts := serve(t, newEcho(), sourceOption{f: routesNothing, admits: func(net.Conn) bool { return another.Swap(true) }})
	nc, err := net.Dial("tcp", ts.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if sent := wantClosed(t, nc); len(sent) != 0 {
		t.Errorf("the server has sent %q", sent)
	}
	if err := call(testContext(t), newTestClient(t, ts.addr), "x"); err != nil {
		t.Error(err)
	}
}

// TestSilentPeerHoldsUpNobody: others are served while a Source waits for a peer's address.
func TestSilentPeerHoldsUpNobody(t *testing.T) {
	asked := make(chan struct{}, 1)
	ts := serveOn(t, testutils.WrapListener{Listener: listen(t), Wrap: func(c net.Conn) net.Conn {
		select {
		case asked <- struct{}{}:
			return asking{c} // the first one
		default:
			return c
		}
	}}, newEcho(), sourceOption{f: routesNothing, admits: func(c net.Conn) bool { return c.RemoteAddr() != nil }})
	nc, err := net.Dial("tcp", ts.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	within(t, asked, "the silent connection")
	asked <- struct{}{}
	if err := call(testContext(t), newTestClient(t, ts.addr), "x"); err != nil {
		t.Error(err)
	}
}
