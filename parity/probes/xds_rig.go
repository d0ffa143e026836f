// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net"
	"strings"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/parity/internal/plane"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/xds"
	"google.golang.org/protobuf/proto"
)

// namedPort is the port of a server that answers each method with its name.
func namedPort(p *probe.P, name string, opts ...grpc.ServerOption) uint32 {
	l := rig.Listen()
	s := grpc.NewServer(append(opts, grpc.UnknownServiceHandler(func(_ any, s grpc.ServerStream) error {
		if err := s.RecvMsg(new(rig.Msg)); err != nil {
			return err
		}
		return s.SendMsg(rig.M(name))
	}))...)
	go func() { _ = s.Serve(l) }()
	p.Cleanup(s.Stop)
	return uint32(l.Addr().(*net.TCPAddr).Port)
}

// callOf makes a call of a method, and says who answered it, or how it failed.
func callOf(ctx context.Context, cc grpc.ClientConnInterface, method string, headers ...string) string {
	out := new(rig.Msg)
	if err := cc.Invoke(metadata.AppendToOutgoingContext(ctx, headers...), method, rig.M("q"), out); err != nil {
		return rig.Err(err)
	}
	return out.GetValue()
}

// xdsState is all that a control plane says of the target xds:///svc: the clusters a and b have
// one server each, of that name.
type xdsState struct {
	listener  *listenerv3.Listener
	manager   *hcmv3.HttpConnectionManager // of the listener, if it has none of its own
	routes    *routev3.RouteConfiguration
	clusters  []*clusterv3.Cluster
	endpoints []*endpointv3.ClusterLoadAssignment
	more      []proto.Message
}

func newXDSState(p *probe.P) *xdsState {
	s := &xdsState{manager: plane.Manager(), routes: plane.Routes(plane.To("a"))}
	for _, name := range []string{"a", "b"} {
		s.clusters = append(s.clusters, plane.Cluster(name))
		s.endpoints = append(s.endpoints, plane.Endpoints(name, plane.Locality("z", 0, namedPort(p, name))))
	}
	return s
}

// host is the virtual host for all.
func (s *xdsState) host() *routev3.VirtualHost { return s.routes.VirtualHosts[0] }

// prepend puts a route to the cluster b before the one to a.
func (s *xdsState) prepend() *routev3.Route {
	r := plane.To("b")
	s.host().Routes = append([]*routev3.Route{r}, s.host().Routes...)
	return r
}

// all lists the resources.
func (s *xdsState) all() []proto.Message {
	l := s.listener
	if l == nil {
		l = plane.Listener("svc", s.manager)
	}
	out := append([]proto.Message{l}, s.more...)
	if s.routes != nil {
		out = append(out, s.routes)
	}
	for _, c := range s.clusters {
		out = append(out, c)
	}
	for _, e := range s.endpoints {
		out = append(out, e)
	}
	return out
}

// xdsResolver is one whose bootstrap configuration names the control plane.
func xdsResolver(config string) resolver.Builder {
	b, err := xds.NewXDSResolverWithConfigForTesting([]byte(config))
	if err != nil {
		panic(err)
	}
	return b
}

// xdsChannel is a channel to xds:///svc.
func xdsChannel(p *probe.P, s *plane.Plane, opts ...grpc.DialOption) *grpc.ClientConn {
	opts = append([]grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithResolvers(xdsResolver(s.Bootstrap()))}, opts...)
	cc, err := grpc.NewClient("xds:///svc", opts...)
	if err != nil {
		panic(fmt.Sprint("NewClient: ", err))
	}
	p.Cleanup(func() { _ = cc.Close() })
	return cc
}

// nodeText hides what a resource error says beyond its code, the resource and the node.
func nodeText(text string) string {
	code, rest, found := strings.Cut(text, ": ")
	if !found {
		return text
	}
	return fmt.Sprintf("%s node=%v", code, strings.Contains(rest, "probe-node"))
}
