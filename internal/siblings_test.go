// SPDX-License-Identifier: Apache-2.0

package internal_test

import (
	"context"
	"net"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/internal"
	"google.golang.org/grpc/internal/binarylog"
	"google.golang.org/grpc/serviceconfig"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/types/known/emptypb"
)

// The names have the types that modules beside this one assert.
func TestSiblings(t *testing.T) {
	join := internal.JoinDialOptions.(func(...grpc.DialOption) grpc.DialOption)
	if _, err := grpc.NewClient("passthrough:///x", join()); err == nil {
		t.Error("a channel without credentials: no option was needed")
	}
	parse := internal.ParseServiceConfig.(func(string) *serviceconfig.ParseResult)
	if got := parse(`{"loadBalancingConfig": [{"round_robin": {}}]}`); got.Err != nil || got.Config == nil {
		t.Errorf("a service config: %v, %v", got.Config, got.Err)
	}
	if got := parse("{"); got.Err == nil {
		t.Error("half a service config: no error")
	}
	canonical := internal.CanonicalString.(func(codes.Code) string)
	for code, want := range map[codes.Code]string{
		codes.OK: "OK", codes.Canceled: "CANCELLED", codes.Internal: "INTERNAL",
		codes.DeadlineExceeded: "DEADLINE_EXCEEDED", codes.OutOfRange: "OUT_OF_RANGE", 99: "CODE(99)",
	} {
		if got := canonical(code); got != want {
			t.Errorf("%v: %q, want %q", code, got, want)
		}
	}
	for code := codes.OK; code <= codes.Unauthenticated; code++ {
		var back codes.Code
		if err := back.UnmarshalJSON([]byte(`"` + canonical(code) + `"`)); err != nil || back != code {
			t.Errorf("%v is spelled %q, which is %v, %v", code, canonical(code), back, err)
		}
	}
}

type logged func(method string)

func (l logged) GetMethodLogger(method string) binarylog.MethodLogger {
	l(method)
	return nil
}

// service has one method, as a server logs no other.
var service = grpc.ServiceDesc{
	ServiceName: "a.S",
	HandlerType: (*any)(nil),
	Methods: []grpc.MethodDesc{{
		MethodName: "M",
		Handler: func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			in := new(emptypb.Empty)
			return in, decode(in)
		},
	}},
}

// Global options come first, and can be done without.
func TestGlobalOptions(t *testing.T) {
	addDial := internal.AddGlobalDialOptions.(func(...grpc.DialOption))
	addServer := internal.AddGlobalServerOptions.(func(...grpc.ServerOption))
	none := internal.DisableGlobalDialOptions.(func() grpc.DialOption)
	clientLogger := internal.WithBinaryLogger.(func(binarylog.Logger) grpc.DialOption)
	serverLogger := internal.BinaryLogger.(func(binarylog.Logger) grpc.ServerOption)

	var client, server string
	addDial(grpc.WithTransportCredentials(insecure.NewCredentials()))
	addDial(clientLogger(logged(func(m string) { client += m })))
	addServer(serverLogger(logged(func(m string) { server += m })))
	defer internal.ClearGlobalDialOptions()
	defer internal.ClearGlobalServerOptions()

	if _, err := grpc.NewClient("passthrough:///x", none()); err == nil {
		t.Error("a channel without global options has their credentials")
	}
	lis := bufconn.Listen(4096)
	s := grpc.NewServer()
	s.RegisterService(&service, nil)
	go s.Serve(lis)
	defer s.Stop()
	cc, err := grpc.NewClient("passthrough:///x", grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
		return lis.DialContext(ctx)
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer cc.Close()
	err = cc.Invoke(t.Context(), "/a.S/M", &emptypb.Empty{}, &emptypb.Empty{})
	if err != nil || client != "/a.S/M" || server != "/a.S/M" {
		t.Errorf("%v; logged %q and %q", err, client, server)
	}
	internal.ClearGlobalDialOptions()
	if _, err := grpc.NewClient("passthrough:///x"); err == nil {
		t.Error("global options are still there")
	}
}
