// SPDX-License-Identifier: Apache-2.0

package streams_test

import (
	"context"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/experimental/streams"
	"google.golang.org/grpc/internal/leakcheck"
	testpb "google.golang.org/grpc/interop/grpc_testing"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// patience is how long a test waits for what has to come.
const patience = 30 * time.Second

type (
	request         = testpb.StreamingOutputCallRequest
	response        = testpb.StreamingOutputCallResponse
	upload          = testpb.StreamingInputCallRequest
	summary         = testpb.StreamingInputCallResponse
	duplex          = grpc.BidiStreamingServer[request, response]
	downwards       = grpc.ServerStreamingServer[response]
	downwardsClient = grpc.ServerStreamingClient[response]
	upwards         = grpc.ClientStreamingServer[upload, summary]
)

// service has functions for methods.
type service struct {
	testpb.UnimplementedTestServiceServer
	duplex func(duplex) error
	down   func(*request, downwards) error
	up     func(upwards) error
}

func (s *service) FullDuplexCall(st duplex) error                       { return s.duplex(st) }
func (s *service) StreamingOutputCall(req *request, st downwards) error { return s.down(req, st) }
func (s *service) StreamingInputCall(st upwards) error                  { return s.up(st) }

// rig is a server and a client of it.
type rig struct {
	server *grpc.Server
	cc     *grpc.ClientConn
	client testpb.TestServiceClient
	ctx    context.Context
}

func newRig(t testing.TB, s *service, opts ...grpc.ServerOption) *rig {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{server: grpc.NewServer(opts...)}
	testpb.RegisterTestServiceServer(r.server, s)
	served := make(chan error, 1)
	go func() { served <- r.server.Serve(lis) }()
	t.Cleanup(func() {
		r.server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	r.cc, err = grpc.NewClient("passthrough:///"+lis.Addr().String(), grpc.WithTransportCredentials(plain()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.cc.Close() })
	r.client = testpb.NewTestServiceClient(r.cc)
	var cancel context.CancelFunc
	r.ctx, cancel = context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return r
}

// talk opens a Client for an RPC that streams both ways.
func (r *rig) talk(t testing.TB, calls *talkerCalls, opts *streams.Options, more ...grpc.CallOption) *talker {
	t.Helper()
	c, err := streams.OpenBidi(calls, opts, func(o grpc.CallOption) (grpc.BidiStreamingClient[request, response], error) {
		return r.client.FullDuplexCall(r.ctx, append(more, o)...)
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// await returns what comes from ch.
func await[T any](t testing.TB, ch <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(patience):
		t.Fatalf("%s did not come", what)
		panic("unreachable")
	}
}
