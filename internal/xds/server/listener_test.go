// SPDX-License-Identifier: Apache-2.0

package server

import (
	"io"
	"net"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc/internal/testutils"
	"google.golang.org/grpc/internal/xds/resource"
)

// late is a connection that waits for its peer before it knows its addresses.
type late struct{ net.Conn }

func (s late) LocalAddr() net.Addr {
	_, _ = s.Read(make([]byte, 1))
	return s.Conn.LocalAddr()
}

func (s late) RemoteAddr() net.Addr {
	_, _ = s.Read(make([]byte, 1))
	return s.Conn.RemoteAddr()
}

// lateListener has one such connection after the other.
type lateListener struct{ noListener }

func (lateListener) Accept() (net.Conn, error) {
	raw, _ := net.Pipe()
	return late{raw}, nil
}

// TestSilentPeerHoldsUpNobody: Accept goes on while a peer has not sent its address, and a connection that is closed
// before that, or meanwhile, is in no edition for good.
func TestSilentPeerHoldsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := listenerOn(lateListener{}, &resource.RouteConfig{})
		defer l.Close()
		var conns []net.Conn
		accepted := make(chan net.Conn)
		go func() {
			for range 3 {
				if c, err := l.Accept(); err == nil {
					accepted <- c
				}
			}
		}()
		for range 3 {
			synctest.Wait()
			select {
			case c := <-accepted:
				conns = append(conns, c)
			default:
				t.Fatalf("the listener waits for the peer of connection %d", len(conns)+1)
			}
		}
		conns[0].Close()
		done := make(chan bool)
		for _, c := range conns[1:] {
			go func() { done <- Source{}.Admit(c) }()
		}
		synctest.Wait()
		select {
		case <-done:
			t.Error("a connection is admitted without its addresses")
		default:
		}
		for _, c := range conns[1:] {
			c.Close()
			<-done
			c.Close() // as the server does, which finds that it has closed it
		}
		wantConns(t, l.current, 0, 0)
	})
}

// TestClosesOneDirection: a connection lets its end be told before it is closed.
func TestClosesOneDirection(t *testing.T) {
	near, far := testutils.Sockets(t, "tcp")
	if err := (&conn{Conn: near}).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if _, err := far.Read(make([]byte, 1)); err != io.EOF {
		t.Error(err)
	}
}
