// SPDX-License-Identifier: Apache-2.0

package transports

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/interop"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"
)

// patience bounds all waiting.
const patience = 30 * time.Second

// link is a way from clients to a server.
type link struct {
	// lis is what the server serves on.
	lis net.Listener
	// dial makes a connection that lis accepts.
	dial func(context.Context) (net.Conn, error)
	// client and server are the credentials of the two sides; nil is none.
	client, server credentials.TransportCredentials
}

// testLink checks what RPCs, connections and servers do over links that open makes.
func testLink(t *testing.T, open func(*testing.T) link) {
	t.Run("calls", func(t *testing.T) {
		l := open(t)
		serve(t, l)
		testCalls(t, l.connect(t))
	})
	t.Run("many", func(t *testing.T) {
		l := open(t)
		serve(t, l)
		testMany(t, l)
	})
	t.Run("lost", func(t *testing.T) {
		l := open(t)
		serve(t, l)
		testLost(t, l)
	})
	t.Run("stop", func(t *testing.T) { testStop(t, open(t)) })
}

// serve runs a server of the test service until the test ends.
func serve(t *testing.T, l link) (*grpc.Server, <-chan error) {
	t.Helper()
	var opts []grpc.ServerOption
	if l.server != nil {
		opts = append(opts, grpc.Creds(l.server))
	}
	s := grpc.NewServer(opts...)
	testpb.RegisterTestServiceServer(s, interop.NewTestServer())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l.lis) }()
	t.Cleanup(s.Stop)
	return s, ended
}

// connect returns a channel over the link, closed when the test ends.
func (l link) connect(t *testing.T) *grpc.ClientConn {
	t.Helper()
	return l.connectBy(t, func(ctx context.Context, _ string) (net.Conn, error) { return l.dial(ctx) })
}

func (l link) connectBy(t *testing.T, dial func(context.Context, string) (net.Conn, error)) *grpc.ClientConn {
	t.Helper()
	creds := l.client
	if creds == nil {
		creds = insecure.NewCredentials()
	}
	cc, err := grpc.NewClient("passthrough:///"+serverName, grpc.WithContextDialer(dial), grpc.WithTransportCredentials(creds))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cc.Close() })
	return cc
}

func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// testMany has 20 connections open at a time, each of which rests while the others work.
func testMany(t *testing.T, l link) {
	ctx := testContext(t)
	var channels []testpb.TestServiceClient
	for range 20 {
		channels = append(channels, testpb.NewTestServiceClient(l.connect(t)))
	}
	for round := range 3 {
		for n, c := range channels {
			if _, err := c.EmptyCall(ctx, &testpb.Empty{}); err != nil {
				t.Fatalf("connection %d, RPC %d: %v", n, round, err)
			}
		}
	}
}

// testLost cuts the connection under a stream: the stream ends, and the next RPC has a
// connection of its own.
func testLost(t *testing.T, l link) {
	ctx := testContext(t)
	var mu sync.Mutex
	var conns []net.Conn
	cc := l.connectBy(t, func(ctx context.Context, _ string) (net.Conn, error) {
		conn, err := l.dial(ctx)
		if err == nil {
			mu.Lock()
			conns = append(conns, conn)
			mu.Unlock()
		}
		return conn, err
	})
	client := testpb.NewTestServiceClient(cc)
	stream := openStream(ctx, t, client)

	mu.Lock()
	conns[0].Close()
	mu.Unlock()
	if _, err := stream.Recv(); status.Code(err) != codes.Unavailable {
		t.Errorf("stream over a lost connection: %v, want %v", err, codes.Unavailable)
	}
	if _, err := client.EmptyCall(ctx, &testpb.Empty{}, grpc.WaitForReady(true)); err != nil {
		t.Errorf("after a lost connection: %v", err)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(conns) < 2 {
		t.Errorf("%d connections, want another one", len(conns))
	}
}

// testStop stops a server with a stream open, gracefully: the stream goes on, and the
// server ends with it.
func testStop(t *testing.T, l link) {
	ctx := testContext(t)
	s, ended := serve(t, l)
	cc := l.connect(t)
	stream := openStream(ctx, t, testpb.NewTestServiceClient(cc))

	stopped := make(chan struct{})
	go func() {
		s.GracefulStop()
		close(stopped)
	}()
	// The channel has heard of it.
	if !cc.WaitForStateChange(ctx, connectivity.Ready) {
		t.Fatal("the connection stays as it is")
	}
	for range 10 {
		exchange(t, stream, 1000, 1000)
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != io.EOF {
		t.Errorf("end of the stream: %v", err)
	}
	select {
	case <-stopped:
	case <-ctx.Done():
		t.Fatal("GracefulStop does not return")
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("Serve: %v", err)
		}
	case <-ctx.Done():
		t.Fatal("Serve does not return")
	}
}

func openStream(ctx context.Context, t *testing.T, client testpb.TestServiceClient) duplex {
	t.Helper()
	stream, err := client.FullDuplexCall(ctx)
	if err != nil {
		t.Fatal(err)
	}
	exchange(t, stream, 10, 10)
	return stream
}
