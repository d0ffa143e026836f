// SPDX-License-Identifier: Apache-2.0

package grpc_test

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/internal/channelz"
	"google.golang.org/grpc/internal/testutils"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/types/known/emptypb"
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

func (lateHandshake) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }
func (lateHandshake) HandleRPC(context.Context, stats.RPCStats)                       {}

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

// TestGracefulStopDrainsHandshakes: RPCs that wait for a connection whose handshake runs while GracefulStop is called
// are served: there, if they come before the client is told, or by the next server.
func TestGracefulStopDrainsHandshakes(t *testing.T) {
	var may chan struct{}
	eachHandshake(t, func() { may = make(chan struct{}); <-may }, func(t *testing.T, s *grpc.Server, conn net.Conn) {
		next := bufconn.Listen(64 << 10)
		successor := grpc.NewServer()
		go successor.Serve(next)
		defer successor.Stop()
		conns := make(chan net.Conn, 1)
		conns <- conn
		cc, err := grpc.NewClient("passthrough:///x", grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
				select {
				case c := <-conns:
					return c, nil
				default:
					return next.DialContext(ctx)
				}
			}))
		if err != nil {
			t.Fatal(err)
		}
		defer cc.Close()
		result := make(chan error, 1)
		go func() { result <- cc.Invoke(t.Context(), "/not/there", &emptypb.Empty{}, &emptypb.Empty{}) }()
		go s.GracefulStop()
		synctest.Wait()
		close(may)
		if err := <-result; status.Code(err) != codes.Unimplemented {
			t.Errorf("the RPC ends with %v", err)
		}
		s.GracefulStop()
	})
}

// TestStopClosesHandshakes: Stop closes a connection whose handshake waits for the client at once, also while
// GracefulStop runs, which gives the client five seconds.
func TestStopClosesHandshakes(t *testing.T) {
	graceful := (*grpc.Server).GracefulStop
	for name, test := range map[string]struct {
		stop  func(*grpc.Server)
		takes time.Duration
	}{
		"Stop":         {(*grpc.Server).Stop, 0},
		"GracefulStop": {graceful, 5 * time.Second},
		"both":         {func(s *grpc.Server) { go graceful(s); synctest.Wait(); s.Stop() }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := grpc.NewServer(grpc.Creds(credentials.NewTLS(&tls.Config{})))
				lis := bufconn.Listen(64 << 10)
				go s.Serve(lis)
				conn, err := lis.Dial()
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				synctest.Wait()
				begun := time.Now()
				test.stop(s)
				if took := time.Since(begun); took != test.takes {
					t.Errorf("it took %v, not %v", took, test.takes)
				}
				if n, err := conn.Read(make([]byte, 1)); err != io.EOF {
					t.Errorf("the client reads %d, %v", n, err)
				}
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

// TestOneConnectionTimeout: handshake and preface have the time of ConnectionTimeout together.
func TestOneConnectionTimeout(t *testing.T) {
	eachHandshake(t, func() { time.Sleep(100 * time.Second) }, func(t *testing.T, s *grpc.Server, conn net.Conn) {
		begin := time.Now()
		if _, err := io.Copy(io.Discard, conn); err != nil {
			t.Error(err)
		}
		if took := time.Since(begin); took < 120*time.Second || took > 140*time.Second {
			t.Errorf("a silent client keeps its connection for %v", took)
		}
		s.Stop()
	})
}
