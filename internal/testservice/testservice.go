// SPDX-License-Identifier: Apache-2.0

// Package testservice has a server of the test service, made of functions, with a channel to it.
// It is for tests.
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

// Patience is how long a test waits for what has to come.
const Patience = 30 * time.Second

type (
	// Duplex is the server's end of a stream both ways.
	Duplex = grpc.BidiStreamingServer[testpb.StreamingOutputCallRequest, testpb.StreamingOutputCallResponse]
	// DuplexClient is the client's end of it.
	DuplexClient = grpc.BidiStreamingClient[testpb.StreamingOutputCallRequest, testpb.StreamingOutputCallResponse]
)

// Functions are the service. Those that are nil have no effect, and succeed.
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

// Service is a server at work.
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

// StartOn is Start for a listener.
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

// StartHTTP is Start behind a server of net/http, in clear text.
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

// Context returns one that ends when patience does, or the test.
func Context(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	t.Cleanup(cancel)
	return ctx
}

// Await returns what comes from ch.
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
