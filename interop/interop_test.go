// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"context"
	"net"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/interop/testcerts"
	"google.golang.org/grpc/status"
)

// serve runs srv on a new listener for the length of the test, and returns its address.
func serve(t *testing.T, srv *grpc.Server, network string) string {
	t.Helper()
	addr := "127.0.0.1:0"
	if network == "unix" {
		addr = filepath.Join(t.TempDir(), "s")
	}
	lis, err := net.Listen(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(lis) }()
	t.Cleanup(func() {
		srv.Stop()
		if err := <-done; err != nil {
			t.Error("Serve:", err)
		}
	})
	return lis.Addr().String()
}

// serveAll serves on as many servers as the cases need, and returns a configuration that
// has them.
func serveAll(t *testing.T, network string, opts ...grpc.ServerOption) Config {
	t.Helper()
	cfg := Config{Network: network}
	for range roundRobinServers {
		cfg.Addrs = append(cfg.Addrs, serve(t, NewServer(opts...), network))
	}
	return cfg
}

// dial returns a client for the length of the test.
func dial(t *testing.T, cfg Config) *Client {
	t.Helper()
	c, err := NewClient(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error("Close:", err)
		}
	})
	return c
}

// dialOne returns a client of a server alone.
func dialOne(t *testing.T, srv *grpc.Server) *Client {
	t.Helper()
	return dial(t, Config{Network: "tcp", Addrs: []string{serve(t, srv, "tcp")}})
}

func runAll(t *testing.T, c *Client) {
	t.Helper()
	for _, tc := range Cases() {
		t.Run(tc.Name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			defer cancel()
			if err := tc.Run(ctx, c); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestCasesOverPlainSockets(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		t.Run(network, func(t *testing.T) {
			runAll(t, dial(t, serveAll(t, network)))
		})
	}
}

func TestCasesOverTLS(t *testing.T) {
	files, err := testcerts.Write(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	serverCreds, err := credentials.NewServerTLSFromFile(files.Cert, files.Key)
	if err != nil {
		t.Fatal(err)
	}
	clientCreds, err := credentials.NewClientTLSFromFile(files.CA, testcerts.ServerName)
	if err != nil {
		t.Fatal(err)
	}
	cfg := serveAll(t, "tcp", grpc.Creds(serverCreds))
	cfg.Creds = clientCreds
	runAll(t, dial(t, cfg))
}

func TestCasesCompressedByDefault(t *testing.T) {
	cfg := serveAll(t, "tcp")
	cfg.Options = []grpc.DialOption{grpc.WithDefaultCallOptions(grpc.UseCompressor("gzip"))}
	runAll(t, dial(t, cfg))
}

// broken is a service that gets wrong what the cases look at.
type broken struct{ testService }

func (broken) EmptyCall(context.Context, *testpb.Empty) (*testpb.Empty, error) {
	return nil, status.Error(codes.Internal, "broken")
}

func (broken) UnaryCall(_ context.Context, req *testpb.SimpleRequest) (*testpb.SimpleResponse, error) {
	if want := req.GetResponseStatus(); want != nil {
		return nil, status.Error(codes.Code(want.GetCode()), want.GetMessage()+" ")
	}
	// The right size, but neither metadata nor compression.
	return &testpb.SimpleResponse{Payload: zeros(int(req.GetResponseSize()))}, nil
}

func (broken) StreamingInputCall(stream testpb.TestService_StreamingInputCallServer) error {
	return stream.SendAndClose(&testpb.StreamingInputCallResponse{AggregatedPayloadSize: -1})
}

func (broken) StreamingOutputCall(req *testpb.StreamingOutputCallRequest, stream testpb.TestService_StreamingOutputCallServer) error {
	for _, p := range req.GetResponseParameters() {
		if err := stream.Send(&testpb.StreamingOutputCallResponse{Payload: zeros(int(p.GetSize()))}); err != nil {
			return err
		}
	}
	return stream.Send(&testpb.StreamingOutputCallResponse{})
}

func (broken) FullDuplexCall(stream testpb.TestService_FullDuplexCallServer) error {
	return stream.Send(&testpb.StreamingOutputCallResponse{Payload: &testpb.Payload{Body: []byte("not zero")}})
}

func (broken) UnimplementedCall(context.Context, *testpb.Empty) (*testpb.Empty, error) {
	return &testpb.Empty{}, nil
}

// A case that nothing can fail shows nothing.
func TestCasesFailOnABrokenServer(t *testing.T) {
	passes := map[string]bool{
		"large_unary":           true, // broken gets the size right
		"unimplemented_service": true,
	}
	cfg := Config{Network: "tcp"}
	for range roundRobinServers {
		srv := grpc.NewServer(grpc.StatsHandler(flagHandler{}))
		testpb.RegisterTestServiceServer(srv, broken{})
		cfg.Addrs = append(cfg.Addrs, serve(t, srv, "tcp"))
	}
	c := dial(t, cfg)
	for _, tc := range Cases() {
		t.Run(tc.Name, func(t *testing.T) {
			if tc.Name == "cancel_after_begin" || tc.Name == "timeout_on_sleeping_server" {
				t.Skip("a race between the server's answer and the client's own end of the call")
			}
			limit := 30 * time.Second
			if tc.Name == "orca_oob" {
				limit = time.Second // it waits for what does not come
			}
			ctx, cancel := context.WithTimeout(context.Background(), limit)
			defer cancel()
			err := tc.Run(ctx, c)
			if passed := err == nil; passed != passes[tc.Name] {
				t.Errorf("passed: %v, want %v (error: %v)", passed, passes[tc.Name], err)
			}
		})
	}
}

func TestServiceRefusesWhatItCannotDo(t *testing.T) {
	c := dialOne(t, NewServer())
	for name, req := range map[string]*testpb.SimpleRequest{
		"negative size":  {ResponseSize: -1},
		"immense size":   {ResponseSize: maxPayload + 1},
		"unknown type":   {ResponseType: 7},
		"not compressed": {ExpectCompressed: boolean(true), Payload: zeros(100)},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			defer cancel()
			_, err := c.test.UnaryCall(ctx, req)
			if err := checkCode(err, codes.InvalidArgument); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestHalfDuplexServesInOrder(t *testing.T) {
	c := dialOne(t, NewServer())
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	stream, err := c.test.HalfDuplexCall(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range responseSizes {
		req := outputRequest(n)
		req.ResponseParameters[0].IntervalUs = 10
		if err := stream.Send(req); err != nil {
			t.Fatal(err)
		}
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	for _, n := range responseSizes {
		reply, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if err := checkPayload(reply.GetPayload(), n); err != nil {
			t.Error(err)
		}
	}
	if err := checkEnd(stream.Recv); err != nil {
		t.Error(err)
	}
}

func TestCacheableUnaryCallSaysSo(t *testing.T) {
	c := dialOne(t, NewServer())
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	reply, err := c.test.CacheableUnaryCall(ctx, &testpb.SimpleRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if len(reply.GetPayload().GetBody()) == 0 {
		t.Error("no time stamp in the reply")
	}
}
