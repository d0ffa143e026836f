// SPDX-License-Identifier: Apache-2.0

package test

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/xds"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// TestIstio has Istio's control plane lead clients without a proxy that are built with this module
// and with the published one: with the same configuration, one after the other, both come to the
// same servers, on channels that live through all of it.
func TestIstio(t *testing.T) {
	i := startIstio(t)
	a, b := anyBackend(t, "a"), anyBackend(t, "b")
	inbound := i.server("inbound", "127.0.0.2:0")
	shop := entry("shop", labelled("127.0.0.1", a.port, "v1"), labelled("127.0.0.1", b.port, "v2"))
	mesh := entry("mesh", labelled("127.0.0.2", uint32(inbound.port), "v1"))
	clients := map[string]*sameClient{
		"ours":      i.client(build(t, "same", "go.mod")),
		"published": i.client(build(t, "same", "published.mod")),
	}
	for _, step := range []struct {
		name   string
		config []string
		rpc    sameRPC
		want   map[string]int // how many of the RPCs, at least; nobody else gets any
	}{
		{"a service", []string{shop, mesh}, sameRPC{Target: "xds:///shop.ns.svc.cluster.local:7070"}, map[string]int{"a": 40, "b": 40}},
		{"a server of xDS", []string{shop, mesh}, sameRPC{Target: "xds:///mesh.ns.svc.cluster.local:7070"}, map[string]int{"inbound": 100}},
		{
			"a subset",
			[]string{shop, mesh, subsets, virtualService(`{route: [{destination: {host: shop.ns.svc.cluster.local, subset: v2}}]}`)},
			sameRPC{Target: "xds:///shop.ns.svc.cluster.local:7070"},
			map[string]int{"b": 100},
		},
		{
			"weights",
			[]string{shop, mesh, subsets, virtualService(`{route: [{weight: 80, destination: {host: shop.ns.svc.cluster.local, subset: v1}},
				{weight: 20, destination: {host: shop.ns.svc.cluster.local, subset: v2}}]}`)},
			sameRPC{Target: "xds:///shop.ns.svc.cluster.local:7070"},
			map[string]int{"a": 60, "b": 5},
		},
		{
			"a header",
			[]string{shop, mesh, subsets, virtualService(`{match: [{headers: {user: {exact: x}}}], route: [{destination: {host: shop.ns.svc.cluster.local, subset: v2}}]}`,
				`{route: [{destination: {host: shop.ns.svc.cluster.local, subset: v1}}]}`)},
			sameRPC{Target: "xds:///shop.ns.svc.cluster.local:7070", Headers: []string{"user", "x"}},
			map[string]int{"b": 100},
		},
		{
			"not that header", nil,
			sameRPC{Target: "xds:///shop.ns.svc.cluster.local:7070", Headers: []string{"user", "y"}},
			map[string]int{"a": 100},
		},
		{
			"a method",
			[]string{shop, mesh, subsets, virtualService(`{match: [{uri: {prefix: /shop.Pay/}}], route: [{destination: {host: shop.ns.svc.cluster.local, subset: v2}}]}`,
				`{route: [{destination: {host: shop.ns.svc.cluster.local, subset: v1}}]}`)},
			sameRPC{Target: "xds:///shop.ns.svc.cluster.local:7070", Method: "/shop.Pay/Add"},
			map[string]int{"b": 100},
		},
		{
			"an endpoint that goes",
			[]string{mesh, entry("shop", labelled("127.0.0.1", a.port, "v1"))},
			sameRPC{Target: "xds:///shop.ns.svc.cluster.local:7070"},
			map[string]int{"a": 100},
		},
		{
			"and comes back",
			[]string{shop, mesh},
			sameRPC{Target: "xds:///shop.ns.svc.cluster.local:7070"},
			map[string]int{"a": 40, "b": 40},
		},
	} {
		if step.config != nil {
			i.say(step.config...)
		}
		if step.rpc.Times = 100; step.rpc.Method == "" {
			step.rpc.Method = "/shop.Cart/Add"
		}
		if step.name == "a server of xDS" {
			i.await("the server to serve", inbound.serving)
		}
		for _, name := range slices.Sorted(maps.Keys(clients)) {
			var got map[string]int
			i.await(fmt.Sprintf("%s, %s: %v", step.name, name, step.want), func() bool {
				got = clients[name].do(step.rpc)
				return satisfies(got, step.want)
			})
			t.Logf("%s, %s: %v", step.name, name, got)
		}
	}
}

func satisfies(got, want map[string]int) bool {
	for end, n := range got {
		if least, ok := want[end]; !ok || n < least {
			return false
		}
	}
	return len(got) == len(want)
}

// labelled is an endpoint of a version.
func labelled(ip string, port uint32, version string) string {
	return fmt.Sprintf("{address: %s, ports: {grpc: %d}, labels: {version: %s}}", ip, port, version)
}

// entry is a service with endpoints.
func entry(name string, endpoints ...string) string {
	return fmt.Sprintf(`apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: %[1]s, namespace: ns}
spec:
  hosts: [%[1]s.ns.svc.cluster.local]
  location: MESH_INTERNAL
  resolution: STATIC
  ports: [{name: grpc, number: 7070, protocol: GRPC}]
  endpoints: [%[2]s]`, name, strings.Join(endpoints, ", "))
}

const subsets = `apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: shop, namespace: ns}
spec:
  host: shop.ns.svc.cluster.local
  subsets: [{name: v1, labels: {version: v1}}, {name: v2, labels: {version: v2}}]`

// virtualService has routes for the service.
func virtualService(list ...string) string {
	return fmt.Sprintf(`apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: shop, namespace: ns}
spec:
  hosts: [shop.ns.svc.cluster.local]
  http: [%s]`, strings.Join(list, ", "))
}

// istioServer is an xDS server that answers each method with its name.
type istioServer struct {
	port int
	mode chan connectivity.ServingMode
	now  connectivity.ServingMode
}

func (i *istio) server(name, address string) *istioServer {
	i.t.Helper()
	lis, err := net.Listen("tcp", address)
	if err != nil {
		i.t.Fatal(err)
	}
	at := lis.Addr().(*net.TCPAddr)
	s := &istioServer{port: at.Port, mode: make(chan connectivity.ServingMode, 100)}
	gs, err := xds.NewGRPCServer(
		xds.BootstrapContentsForTesting([]byte(i.bootstrap(name, at.IP.String()))),
		xds.ServingModeCallback(func(_ net.Addr, args xds.ServingModeChangeArgs) { s.mode <- args.Mode }),
		grpc.UnknownServiceHandler(func(_ any, st grpc.ServerStream) error {
			if err := st.RecvMsg(&emptypb.Empty{}); err != nil {
				return err
			}
			return st.SendMsg(wrapperspb.String(name))
		}),
	)
	if err != nil {
		i.t.Fatal(err)
	}
	go gs.Serve(lis) // it ends with Stop
	i.t.Cleanup(gs.Stop)
	return s
}

func (s *istioServer) serving() bool {
	for {
		select {
		case s.now = <-s.mode:
		default:
			return s.now == connectivity.ServingModeServing
		}
	}
}

func (i *istio) client(program string) *sameClient {
	return startSame(i.t, program, i.bootstrap("client", "127.0.0.9"))
}
