// SPDX-License-Identifier: Apache-2.0

// Package stubserver has a test service made of functions, with a client. It is for the tests of
// other modules that use package internal; see internal/siblings.go.
package stubserver

import (
	"context"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	testpb "google.golang.org/grpc/interop/grpc_testing"
)

// StubServer is a test service. It serves on a socket between Start and Stop.
type StubServer struct {
	testpb.UnimplementedTestServiceServer

	EmptyCallF      func(context.Context, *testpb.Empty) (*testpb.Empty, error)
	UnaryCallF      func(context.Context, *testpb.SimpleRequest) (*testpb.SimpleResponse, error)
	FullDuplexCallF func(testpb.TestService_FullDuplexCallServer) error

	// Address is the address to listen on. If it is empty, Start chooses a port of the loopback
	// interface. Start sets it to the address with the actual port.
	Address string
	// Client calls the service. Start sets it.
	Client testpb.TestServiceClient

	server *grpc.Server
	cc     *grpc.ClientConn
}

// EmptyCall calls EmptyCallF.
func (s *StubServer) EmptyCall(ctx context.Context, in *testpb.Empty) (*testpb.Empty, error) {
	return s.EmptyCallF(ctx, in)
}

// UnaryCall calls UnaryCallF.
func (s *StubServer) UnaryCall(ctx context.Context, in *testpb.SimpleRequest) (*testpb.SimpleResponse, error) {
	return s.UnaryCallF(ctx, in)
}

// FullDuplexCall calls FullDuplexCallF.
func (s *StubServer) FullDuplexCall(stream testpb.TestService_FullDuplexCallServer) error {
	return s.FullDuplexCallF(stream)
}

// Start serves at Address, and makes the client.
func (s *StubServer) Start(server []grpc.ServerOption, client ...grpc.DialOption) error {
	if s.Address == "" {
		s.Address = "127.0.0.1:0"
	}
	lis, err := net.Listen("tcp", s.Address)
	if err != nil {
		return err
	}
	s.Address = lis.Addr().String()
	s.server = grpc.NewServer(server...)
	testpb.RegisterTestServiceServer(s.server, s)
	go s.server.Serve(lis) //nolint:errcheck // it ends with Stop
	client = append([]grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}, client...)
	if s.cc, err = grpc.NewClient(lis.Addr().String(), client...); err != nil {
		s.server.Stop()
		return err
	}
	s.Client = testpb.NewTestServiceClient(s.cc)
	return nil
}

// Stop ends the client and then the server.
func (s *StubServer) Stop() {
	if s.cc != nil {
		s.cc.Close()
	}
	if s.server != nil {
		s.server.Stop()
	}
}
