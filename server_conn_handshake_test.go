// SPDX-License-Identifier: Apache-2.0

package grpc_test

import (
	"context"
	"io"
	"net"
	"runtime"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/internal/channelz"
	"google.golang.org/grpc/internal/testutils"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/test/bufconn"
)

// lateHandshake is credentials and a stats handler. The call that is named does do.
type lateHandshake struct {
	credentials.TransportCredentials
	stats.Handler
	named string
	do    func()
}

func (h lateHandshake) at(what string) {
	if h.named == what {
		h.do()
	}
}

func (h lateHandshake) Clone() credentials.TransportCredentials { return h }

func (h lateHandshake) ServerHandshake(c net.Conn) (net.Conn, credentials.AuthInfo, error) {
	h.at("ServerHandshake")
	return c, nil, nil
}

func (h lateHandshake) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context {
	h.at("TagConn")
	return ctx
}

func (h lateHandshake) HandleConn(_ context.Context, e stats.ConnStats) {
	if _, begins := e.(*stats.ConnBegin); begins {
		h.at("ConnBegin")
	}
}

// eachHandshake runs test with a server and a connection to it, whose handshake does do in one of its calls.
func eachHandshake(t *testing.T, do func(), test func(*testing.T, *grpc.Server, net.Conn)) {
	for _, named := range []string{"ServerHandshake", "TagConn", "ConnBegin"} {
		t.Run(named, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := lateHandshake{TransportCredentials: insecure.NewCredentials(), named: named, do: do}
				s := grpc.NewServer(grpc.Creds(h), grpc.StatsHandler(h))
				lis := bufconn.Listen(64 << 10)
				go s.Serve(lis)
				conn, err := lis.Dial()
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				synctest.Wait()
				test(t, s, conn)
			})
		})
	}
}

// TestStopAwaitsHandshakes: Stop and GracefulStop return once neither credentials nor stats handlers run for a
// connection that was about to begin.
func TestStopAwaitsHandshakes(t *testing.T) {
	for name, stop := range map[string]func(*grpc.Server){"Stop": (*grpc.Server).Stop, "GracefulStop": (*grpc.Server).GracefulStop} {
		t.Run(name, func(t *testing.T) {
			var may, returned chan struct{}
			eachHandshake(t, func() { may = make(chan struct{}); <-may }, func(t *testing.T, s *grpc.Server, _ net.Conn) {
				returned = make(chan struct{})
				go func() {
					stop(s)
					close(returned)
				}()
				synctest.Wait()
				select {
				case <-returned:
					t.Error("it returned too early")
				default:
				}
				close(may)
				<-returned
			})
		})
	}
}

// TestHandshakeThatExits: a connection that the program's code leaves by runtime.Goexit is closed, and Stop does not
// wait for it.
func TestHandshakeThatExits(t *testing.T) {
	eachHandshake(t, runtime.Goexit, func(t *testing.T, s *grpc.Server, conn net.Conn) {
		if _, err := conn.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("the client reads %v", err)
		}
		s.Stop()
	})
}

// askingListener asks the server for something where it is asked for its address.
type askingListener struct {
	net.Listener
	ask func()
}

func (l askingListener) Addr() net.Addr {
	l.ask()
	return l.Listener.Addr()
}

// TestListenerThatAsks: a listener's Addr may call the server.
func TestListenerThatAsks(t *testing.T) {
	if !testutils.InChild(t, "") {
		return
	}
	channelz.TurnOn()
	s := grpc.NewServer()
	asked := make(chan struct{}, 10)
	served := make(chan struct{})
	go func() {
		defer close(served)
		s.Serve(askingListener{bufconn.Listen(1), func() { s.GetServiceInfo(); asked <- struct{}{} }})
	}()
	<-asked
	s.Stop()
	<-served
}
