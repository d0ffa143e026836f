// SPDX-License-Identifier: Apache-2.0

package autosharding

import (
	"encoding/json"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/internal/leakcheck"
	internalserviceconfig "google.golang.org/grpc/internal/serviceconfig"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/grpc/status"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

func TestParseConfig(t *testing.T) {
	for text, want := range map[string]lbConfig{
		`{"channelFactoryKey": "k", "autoshardingTarget": "t", "keyHeaderName": "h", "other": 1}`: {
			ChannelFactoryKey: "k", AutoShardingTarget: "t", KeyHeaderName: "h", InitialAssignmentTimeout: internalserviceconfig.Duration(time.Minute),
		},
		`{"channelFactoryKey": "k", "autoshardingTarget": "t", "keyHeaderName": "h", "enableFallback": true, "initialAssignmentTimeout": "1.5s"}`: {
			ChannelFactoryKey: "k", AutoShardingTarget: "t", KeyHeaderName: "h", EnableFallback: true,
			InitialAssignmentTimeout: internalserviceconfig.Duration(1500 * time.Millisecond),
		},
	} {
		got, err := builder{}.ParseConfig(json.RawMessage(text))
		if err != nil || *got.(*lbConfig) != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"": "unmarshal", "1": "unmarshal", "{}": "channelFactoryKey",
		`{"channelFactoryKey": "k"}`:                            "autoshardingTarget",
		`{"channelFactoryKey": "k", "autoshardingTarget": "t"}`: "keyHeaderName",
		`{"channelFactoryKey": "k", "autoshardingTarget": "t", "keyHeaderName": "h", "initialAssignmentTimeout": "1h"}`: "unmarshal",
	} {
		if got, err := (builder{}).ParseConfig(json.RawMessage(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
}

func config(fallback string) string {
	return `{"loadBalancingConfig": [{"autosharding_experimental": {
		"channelFactoryKey": "k", "autoshardingTarget": "t", "keyHeaderName": "h", "enableFallback": ` + fallback + `}}]}`
}

// TestNoAssignment: with the fallback all endpoints serve, without it none does; and a
// configuration may change.
func TestNoAssignment(t *testing.T) {
	var addrs []resolver.Address
	for range 3 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		srv := grpc.NewServer()
		healthpb.RegisterHealthServer(srv, health.NewServer())
		go srv.Serve(l)
		defer srv.Stop()
		addrs = append(addrs, resolver.Address{Addr: l.Addr().String()})
	}
	r := manual.NewBuilderWithScheme("autosharding")
	r.InitialState(resolver.State{Addresses: addrs})
	cc, err := grpc.NewClient("autosharding:///service", grpc.WithResolvers(r), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultServiceConfig(config("true")))
	if err != nil {
		t.Fatal(err)
	}
	defer cc.Close()
	seen := map[string]bool{}
	for len(seen) < 3 {
		var p peer.Peer
		if _, err := healthpb.NewHealthClient(cc).Check(t.Context(), &healthpb.HealthCheckRequest{}, grpc.Peer(&p)); err != nil {
			t.Fatal(err)
		}
		seen[p.Addr.String()] = true
	}
	r.UpdateState(resolver.State{Addresses: addrs, ServiceConfig: r.CC().ParseServiceConfig(config("false"))})
	for {
		_, err := healthpb.NewHealthClient(cc).Check(t.Context(), &healthpb.HealthCheckRequest{}, grpc.WaitForReady(true))
		if status.Code(err) == codes.Unavailable && strings.Contains(err.Error(), `"k"`) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	r.CC().ReportError(status.Error(codes.Internal, "resolver"))
}
