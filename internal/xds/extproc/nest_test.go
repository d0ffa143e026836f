// SPDX-License-Identifier: Apache-2.0

package extproc

import (
	"context"
	"fmt"
	"net"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/internal/ctxkey"
	"google.golang.org/grpc/internal/rpcconfig"
	"google.golang.org/grpc/internal/xds/bootstrap"
	"google.golang.org/grpc/internal/xds/grpcservice"
	"google.golang.org/grpc/internal/xds/httpfilter"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// nestScheme resolves each endpoint to one address, and sends its RPCs through the interceptor of
// that name.
type nestScheme struct {
	address string
	filters sync.Map // rpcconfig.Interceptor
}

func (*nestScheme) Scheme() string { return "nest" }

func (n *nestScheme) Build(t resolver.Target, cc resolver.ClientConn, _ resolver.BuildOptions) (resolver.Resolver, error) {
	state := resolver.State{Addresses: []resolver.Address{{Addr: n.address}}}
	f, _ := n.filters.Load(t.Endpoint())
	in, _ := f.(rpcconfig.Interceptor)
	return nestResolver{}, cc.UpdateState(rpcconfig.WithSelector(state, nestSelector{in}))
}

type nestResolver struct{}

func (nestResolver) ResolveNow(resolver.ResolveNowOptions) {}
func (nestResolver) Close()                                {}

type nestSelector struct{ rpcconfig.Interceptor }

func (s nestSelector) Select(context.Context, string, *ctxkey.Outgoing) (rpcconfig.Choice, error) {
	return rpcconfig.Choice{Interceptor: s.Interceptor}, nil
}

// serviceAt is the service for target.
func serviceAt(t *testing.T, target string) *grpcservice.Service {
	t.Helper()
	b, err := bootstrap.Parse(fmt.Appendf(nil, `{"xds_servers":[{"server_uri":"x","channel_creds":[{"type":"insecure"}]}],"node":{"id":"n"},
		"allowed_grpc_services":{%q:{"channel_creds":[{"type":"insecure"}]}}}`, target), bootstrap.Options{Services: true})
	if err != nil {
		t.Fatal(err)
	}
	s, err := grpcservice.Parse(&corev3.GrpcService{TargetSpecifier: &corev3.GrpcService_GoogleGrpc_{
		GoogleGrpc: &corev3.GrpcService_GoogleGrpc{TargetUri: target},
	}}, httpfilter.Origin{Bootstrap: b})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestNest: the stream to a processor may have its own processor, but no circle of them, and no
// long chain.
func TestNest(t *testing.T) {
	defer debug.SetMaxStack(debug.SetMaxStack(32 << 20))
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.UnknownServiceHandler(func(any, grpc.ServerStream) error { return status.Error(codes.DataLoss, "the server's") }))
	defer server.Stop()
	go func() { _ = server.Serve(lis) }()
	scheme := &nestScheme{address: lis.Addr().String()}
	resolver.Register(scheme)
	for _, tt := range []struct {
		name       string
		processors map[string]string // of an endpoint
		allow      bool
		want       string
		code       codes.Code
	}{
		{"itself", map[string]string{"0": "0"}, false, "processed by that processor itself", codes.Internal},
		{"each other", map[string]string{"0": "a", "a": "b", "b": "a"}, false, "processed by that processor itself", codes.Internal},
		{"too long", map[string]string{"0": "a", "a": "b", "b": "c", "c": "d", "d": "e"}, false, "nested in 4 others", codes.Internal},
		{"long", map[string]string{"0": "a", "a": "b", "b": "c", "c": "d"}, false, "the server's", codes.Internal},
		{"may fail", map[string]string{"0": "0"}, true, "the server's", codes.DataLoss},
		{"both may", map[string]string{"0": "a", "a": "b", "b": "a"}, true, "the server's", codes.DataLoss},
		{"no processor", nil, false, "the server's", codes.DataLoss},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for i, mode := range []Mode{
				{Request: RequestMode{Headers: true}},
				{Request: RequestMode{Headers: true, Messages: true}},
				{Response: ResponseMode{Trailers: true}},
			} {
				target := func(endpoint string) string {
					return fmt.Sprintf("%s-%d-%s", strings.ReplaceAll(tt.name, " ", "-"), i, endpoint)
				}
				for endpoint, processor := range tt.processors {
					scheme.filters.Store(target(endpoint), Kind{}.Client(httpfilter.Instance{Config: &Config{
						Service: serviceAt(t, "nest:///"+target(processor)), Mode: mode, AllowFailure: tt.allow,
					}}))
				}
				cc, err := grpc.NewClient("nest:///"+target("0"), grpc.WithTransportCredentials(insecure.NewCredentials()))
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = cc.Close() }()
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				err = cc.Invoke(ctx, "/s/m", wrapperspb.String("x"), &wrapperspb.StringValue{})
				if status.Code(err) != tt.code || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("%+v: %v; want %v, %s", mode, err, tt.code, tt.want)
				}
			}
		})
	}
}
