// SPDX-License-Identifier: Apache-2.0

package experimental_test

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/experimental"
	"google.golang.org/grpc/internal/leakcheck"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// pool counts.
type pool struct {
	mem.BufferPool
	used atomic.Bool
	out  atomic.Int64
	back chan struct{} // something came back
}

func newPool() *pool {
	return &pool{BufferPool: mem.NewTieredBufferPool(256, 4<<10, 32<<10), back: make(chan struct{}, 1)}
}

func (p *pool) Get(n int) *[]byte {
	p.used.Store(true)
	p.out.Add(1)
	return p.BufferPool.Get(n)
}

func (p *pool) Put(b *[]byte) {
	p.BufferPool.Put(b)
	p.out.Add(-1)
	select {
	case p.back <- struct{}{}:
	default:
	}
}

// check waits until everything is back: the readers of connections end after them.
func (p *pool) check(t *testing.T) {
	t.Helper()
	if !p.used.Load() {
		t.Error("the pool was not used")
	}
	for ctx := testContext(t); p.out.Load() != 0; {
		select {
		case <-p.back:
		case <-ctx.Done():
			t.Fatalf("%d buffers did not come back", p.out.Load())
		}
	}
}

// service answers with the value of a header.
type service struct {
	testpb.UnimplementedTestServiceServer
}

func (service) UnaryCall(ctx context.Context, req *testpb.SimpleRequest) (*testpb.SimpleResponse, error) {
	accepted := metadata.ValueFromIncomingContext(ctx, "grpc-accept-encoding")
	return &testpb.SimpleResponse{Username: strings.Join(accepted, ";"), Payload: req.Payload}, nil
}

// start returns a client, and the function that ends it and its server.
func start(t *testing.T, serverOpt grpc.ServerOption, dialOpts ...grpc.DialOption) (testpb.TestServiceClient, func()) {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(serverOpt)
	testpb.RegisterTestServiceServer(server, service{})
	served := make(chan error, 1)
	go func() { served <- server.Serve(lis) }()
	cc, err := grpc.NewClient(lis.Addr().String(), append(dialOpts, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		t.Fatal(err)
	}
	return testpb.NewTestServiceClient(cc), func() {
		cc.Close()
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}
}

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// TestPools: both sides use their own pool, and give everything back.
func TestPools(t *testing.T) {
	clientPool, serverPool := newPool(), newPool()
	client, stop := start(t, experimental.BufferPool(serverPool), experimental.WithBufferPool(clientPool))
	payload := &testpb.Payload{Body: make([]byte, 10_000)}
	for range 3 {
		if _, err := client.UnaryCall(testContext(t), &testpb.SimpleRequest{Payload: payload}); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	clientPool.check(t)
	serverPool.check(t)
}

func TestDefaultPool(t *testing.T) {
	before := mem.DefaultBufferPool()
	p := newPool()
	experimental.SetDefaultBufferPool(p)
	defer experimental.SetDefaultBufferPool(nil)
	if mem.DefaultBufferPool() != mem.BufferPool(p) {
		t.Error("the default is another one")
	}
	client, stop := start(t, grpc.EmptyServerOption{})
	if _, err := client.UnaryCall(testContext(t), &testpb.SimpleRequest{}); err != nil {
		t.Error(err)
	}
	stop()
	p.check(t)
	experimental.SetDefaultBufferPool(nil)
	if mem.DefaultBufferPool() != before {
		t.Error("the original does not come back")
	}
}

func TestAcceptCompressors(t *testing.T) {
	client, stop := start(t, grpc.EmptyServerOption{})
	defer stop()
	for want, opts := range map[string][]grpc.CallOption{
		"gzip":     {experimental.AcceptCompressors("gzip")},
		"gzip ":    nil, // the default
		"gzip  ":   {experimental.AcceptCompressors()},
		"gzip   ":  {experimental.AcceptCompressors("identity", "")},
		"gzip    ": {experimental.AcceptCompressors(" gzip ", "gzip")},
	} {
		resp, err := client.UnaryCall(testContext(t), &testpb.SimpleRequest{}, opts...)
		if err != nil || resp.Username != strings.TrimSpace(want) {
			t.Errorf("%q: %q, %v", want, resp.GetUsername(), err)
		}
	}
	_, err := client.UnaryCall(testContext(t), &testpb.SimpleRequest{}, experimental.AcceptCompressors("nobody"))
	if status.Code(err) != codes.InvalidArgument {
		t.Errorf("a compressor that nobody registered: %v", err)
	}
}
