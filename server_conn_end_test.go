// SPDX-License-Identifier: Apache-2.0

package grpc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/grpclog"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/internal/testutils"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/test/bufconn"
)

// lateConnEnd waits where it is told that a connection has ended.
type lateConnEnd struct {
	stats.Handler
	may chan struct{}
}

func (s lateConnEnd) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (s lateConnEnd) HandleRPC(context.Context, stats.RPCStats)                         {}
func (s lateConnEnd) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

func (s lateConnEnd) HandleConn(_ context.Context, e stats.ConnStats) {
	if _, ok := e.(*stats.ConnEnd); ok {
		<-s.may
	}
}

// exitingConnEnd ends the goroutine that tells it that a connection has ended.
type exitingConnEnd struct{ lateConnEnd }

func (exitingConnEnd) HandleConn(_ context.Context, e stats.ConnStats) {
	if _, ok := e.(*stats.ConnEnd); ok {
		runtime.Goexit()
	}
}

// TestConnEndThatExits: the socket is closed, and what the connection holds is given back.
func TestConnEndThatExits(t *testing.T) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(grpc.StatsHandler(exitingConnEnd{}))
	defer s.Stop()
	go s.Serve(lis)
	c, err := net.Dial("tcp", lis.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.WriteString(c, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"); err != nil {
		t.Fatal(err)
	}
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the server keeps the socket")
	}
}

// slowLogger waits where it is told that a server's connection is closed.
type slowLogger struct {
	grpclog.LoggerV2
	may chan struct{}
}

func (slowLogger) V(int) bool { return true }

func (l slowLogger) Infof(format string, args ...any) { l.wait(fmt.Sprintf(format, args...)) }
func (l slowLogger) Infoln(args ...any)               { l.wait(fmt.Sprint(args...)) }
func (l slowLogger) Info(args ...any)                 { l.wait(fmt.Sprint(args...)) }

func (l slowLogger) wait(line string) {
	if strings.Contains(line, "is closed: the server was stopped") {
		<-l.may
	}
}

// TestStopEndsContexts: Stop returns once the contexts of handlers have ended.
func TestStopEndsContexts(t *testing.T) {
	if !testutils.InChild(t, "") {
		return
	}
	synctest.Test(t, func(t *testing.T) {
		log := slowLogger{grpclog.NewLoggerV2(io.Discard, io.Discard, io.Discard), make(chan struct{})}
		grpclog.SetLoggerV2(log)
		began := make(chan context.Context, 1)
		s := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, ss grpc.ServerStream) error {
			began <- ss.Context()
			<-ss.Context().Done()
			return ss.Context().Err()
		}))
		lis := bufconn.Listen(64 << 10)
		go s.Serve(lis)
		cc := dialBubble(t, lis)
		if _, err := cc.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, "/a/b"); err != nil {
			t.Fatal(err)
		}
		ctx := <-began
		stopped := make(chan error, 1)
		go func() {
			s.Stop()
			stopped <- ctx.Err()
		}()
		synctest.Wait()
		select {
		case err := <-stopped:
			t.Errorf("Stop has returned, and the context's error is %v", err)
		default:
		}
		close(log.may)
		synctest.Wait()
		if ctx.Err() == nil {
			t.Error("the context is live")
		}
	})
}

// Stop and GracefulStop return once stats handlers know of the end of each connection.
func TestStopTellsConnEnd(t *testing.T) {
	for name, stop := range map[string]func(*grpc.Server){"Stop": (*grpc.Server).Stop, "GracefulStop": (*grpc.Server).GracefulStop} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				may := make(chan struct{})
				lis := bufconn.Listen(64 << 10)
				s := grpc.NewServer(grpc.StatsHandler(lateConnEnd{may: may}))
				healthpb.RegisterHealthServer(s, health.NewServer())
				go s.Serve(lis)
				cc := dialBubble(t, lis)
				if _, err := healthpb.NewHealthClient(cc).Check(t.Context(), &healthpb.HealthCheckRequest{}); err != nil {
					t.Fatal(err)
				}
				returned := make(chan struct{})
				go func() {
					stop(s)
					close(returned)
				}()
				synctest.Wait()
				select {
				case <-returned:
					t.Error("it returned before ConnEnd was told")
				default:
				}
				close(may)
				<-returned
			})
		})
	}
}
