// SPDX-License-Identifier: Apache-2.0

// Package testservice has a server of the test service that is made of functions, and a channel to
// it. It is for tests.
package testservice

import (
	"context"
	"errors"
	"net"
	"net/http"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	testpb "google.golang.org/grpc/interop/grpc_testing"
)

// Patience is how long a test waits for an event that must happen.
const Patience = 30 * time.Second

type (
	// Duplex is the server's end of a bidirectional stream.
	Duplex = grpc.BidiStreamingServer[testpb.StreamingOutputCallRequest, testpb.StreamingOutputCallResponse]
	// DuplexClient is the client's end of a bidirectional stream.
	DuplexClient = grpc.BidiStreamingClient[testpb.StreamingOutputCallRequest, testpb.StreamingOutputCallResponse]
)

// Functions is the service. A method whose function is nil does nothing and succeeds.
type Functions struct {
	testpb.UnimplementedTestServiceServer
	Empty  func(context.Context) error
	Unary  func(context.Context, *testpb.SimpleRequest) (*testpb.SimpleResponse, error)
	Stream func(Duplex) error
}

// EmptyCall implements the service.
func (f *Functions) EmptyCall(ctx context.Context, _ *testpb.Empty) (*testpb.Empty, error) {
	if f.Empty == nil {
		return &testpb.Empty{}, nil
	}
	return &testpb.Empty{}, f.Empty(ctx)
}

// UnaryCall implements the service.
func (f *Functions) UnaryCall(ctx context.Context, req *testpb.SimpleRequest) (*testpb.SimpleResponse, error) {
	if f.Unary == nil {
		return &testpb.SimpleResponse{}, nil
	}
	return f.Unary(ctx, req)
}

// FullDuplexCall implements the service.
func (f *Functions) FullDuplexCall(st Duplex) error {
	if f.Stream == nil {
		return nil
	}
	return f.Stream(st)
}

// Service is a server that is serving at Addr.
type Service struct {
	*grpc.Server
	Addr string
}

// Start serves f until the end of the test.
func Start(t testing.TB, f *Functions, opts ...grpc.ServerOption) *Service {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return StartOn(t, lis, f, opts...)
}

// StartOn is Start with a given listener.
func StartOn(t testing.TB, lis net.Listener, f *Functions, opts ...grpc.ServerOption) *Service {
	s := &Service{grpc.NewServer(opts...), lis.Addr().String()}
	testpb.RegisterTestServiceServer(s.Server, f)
	served := make(chan error, 1)
	go func() { served <- s.Serve(lis) }()
	t.Cleanup(func() {
		s.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return s
}

// StartHTTP is Start with the server as a handler of net/http's server, without TLS.
func StartHTTP(t testing.TB, f *Functions, opts ...grpc.ServerOption) *Service {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &Service{grpc.NewServer(opts...), lis.Addr().String()}
	testpb.RegisterTestServiceServer(s.Server, f)
	web := &http.Server{Handler: s.Server, Protocols: new(http.Protocols)}
	web.Protocols.SetUnencryptedHTTP2(true)
	served := make(chan error, 1)
	go func() { served <- web.Serve(lis) }()
	t.Cleanup(func() {
		s.Stop()
		web.Close()
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return s
}

// Dial returns a channel to the server, which is closed at the end of the test.
func (s *Service) Dial(t testing.TB, opts ...grpc.DialOption) (*grpc.ClientConn, testpb.TestServiceClient) {
	t.Helper()
	opts = append([]grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}, opts...)
	cc, err := grpc.NewClient("passthrough:///"+s.Addr, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cc.Close() })
	return cc, testpb.NewTestServiceClient(cc)
}

// Begin opens a stream whose handler has sent a message.
func Begin(t testing.TB, client testpb.TestServiceClient) DuplexClient {
	t.Helper()
	st, err := client.FullDuplexCall(Context(t))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := st.Recv(); err != nil {
		t.Fatal(err)
	}
	return st
}

// Context returns a context that ends after Patience, or when the test ends.
func Context(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	t.Cleanup(cancel)
	return ctx
}

// Await returns the next value from ch. The test fails if there is none within Patience.
func Await[T any](t testing.TB, ch <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(Patience):
		t.Fatalf("%s did not come", what)
		panic("unreachable")
	}
}
