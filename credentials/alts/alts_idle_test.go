// SPDX-License-Identifier: Apache-2.0

package alts

import (
	"context"
	"net"
	"runtime"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/alts/internal/altstest"
	"google.golang.org/grpc/internal/envconfig"
	imem "google.golang.org/grpc/internal/mem"
	"google.golang.org/grpc/internal/wrappers"
	testpb "google.golang.org/grpc/interop/grpc_testing"
)

// Connections that had a large message and then nothing hold no buffer, and where
// connections can park, no goroutine. They work as before when they are used again.
func TestIdleConnections(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("counts the goroutines of parked connections")
	}
	for _, k := range wrappers.Kinds() {
		if k.Name == "exact" || k.Name == "counts reads, and says so" || k.Name == "counts, and says so" {
			t.Run(k.Name, func(t *testing.T) { testIdleConnections(t, k) })
		}
	}
}

func testIdleConnections(t *testing.T, k wrappers.Kind) {
	parks := envconfig.HTTPFramerReadBufferPooling // else each keeps its reader, and its buffers
	addr := startService(t, &altstest.Service{})
	lis := listen(t)
	srv := grpc.NewServer(grpc.Creds(serverCreds(addr)))
	testpb.RegisterTestServiceServer(srv, echo{})
	done := make(chan error)
	go func() { done <- srv.Serve(k.Listen(lis)) }()
	cc := clientCreds(addr)
	dial := func(ctx context.Context, addr string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		if err != nil {
			return nil, err
		}
		return k.Client(c), nil
	}
	var clients []testpb.TestServiceClient
	for range 20 {
		conn, err := grpc.NewClient(lis.Addr().String(), grpc.WithTransportCredentials(cc), grpc.WithContextDialer(dial))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		clients = append(clients, testpb.NewTestServiceClient(conn))
	}
	t.Cleanup(func() {
		srv.Stop()
		<-done
	})
	lent := imem.Default().Stats().Buffers
	req := &testpb.SimpleRequest{Payload: &testpb.Payload{Body: make([]byte, 1<<20)}}
	for range 3 {
		for _, c := range clients {
			if _, err := c.UnaryCall(t.Context(), req); err != nil {
				t.Fatal(err)
			}
		}
		for parks && (readers() > 0 || imem.Default().Stats().Buffers > lent) {
			runtime.Gosched() // it takes a moment, and so does what an earlier test had lent; a test that hangs here has failed
		}
	}
}

// readers is how many goroutines read an ALTS connection.
func readers() int {
	dump := make([]byte, 1<<20)
	dump = dump[:runtime.Stack(dump, true)]
	return strings.Count(string(dump), "internal/altsconn.(*")
}
