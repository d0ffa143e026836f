// SPDX-License-Identifier: Apache-2.0

// Package xdsclient combines the parts of an xDS client for this module: the client itself
// (package client), gRPC's resources (package resource), channels of this module as connections
// to control planes, configuration from the environment, and metrics (gRFC A78).
//
// A Pool shares Clients and connections. Channels with the same target share one Client (A71),
// and so one cache and one ADS stream for each control plane. Clients with the same control
// plane share one connection to it.
package xdsclient

import (
	"google.golang.org/grpc/internal/envconfig"
	"google.golang.org/grpc/internal/xds/bootstrap"
	"google.golang.org/grpc/internal/xds/client"
	"google.golang.org/grpc/internal/xds/extproc"
	"google.golang.org/grpc/internal/xds/filters"
	"google.golang.org/grpc/internal/xds/httpfilter"
	"google.golang.org/grpc/internal/xds/resource"
)

// ServerName is the name of the Client that all xDS servers share (A71).
const ServerName = "#server"

// Client is an xDS client together with the types of resources that it can watch:
//
//	cancel := client.Watch(c.Client, c.Listeners, name, watcher)
//
// Watchers must not change the values that they get.
type Client struct {
	*client.Client
	Listeners *client.Type[*resource.Listener]
	Routes    *client.Type[*resource.RouteConfig]
	Clusters  *client.Type[*resource.Cluster]
	Endpoints *client.Type[*resource.Endpoints]
}

// Features returns the features that the environment has enabled.
func Features() resource.Features {
	return resource.Features{
		Dualstack:        envconfig.XDSDualstackEndpoints,
		EndpointHashKey:  !envconfig.XDSEndpointHashKeyCompat,
		SystemRootCerts:  envconfig.XDSSystemRootCerts,
		HTTPConnect:      envconfig.XDSHTTPConnect,
		SNI:              envconfig.XDSSNI,
		AuthorityRewrite: envconfig.XDSAuthorityRewrite,
		ORCAToLRS:        envconfig.XDSORCAToLRS,
		StatefulSession:  envconfig.XDSStatefulSession,
		GCPAuthn:         envconfig.XDSGCPAuthFilter,
		PanicRecovery:    envconfig.XDSPanicRecovery,
		Scaling:          envconfig.XDSConnectionScaling,
	}
}

// Filters returns the HTTP filters. Environment variables enable some of them.
func Filters() *httpfilter.Registry {
	kinds := []httpfilter.Kind{httpfilter.Router{}, httpfilter.Fault{}, httpfilter.RBAC{}}
	if envconfig.XDSGCPAuthFilter {
		kinds = append(kinds, filters.GCPAuthn{})
	}
	if envconfig.XDSStatefulSession {
		kinds = append(kinds, filters.Session{})
	}
	if envconfig.XDSExtProcOnClient {
		kinds = append(kinds, extproc.Kind{})
	}
	return httpfilter.NewRegistry(kinds...)
}

// types sets the types of resources of a Client.
func (c *Client) types(b *bootstrap.Config, features resource.Features, filters *httpfilter.Registry) {
	in := func(from *bootstrap.Server) *resource.Context {
		return &resource.Context{Bootstrap: b, Server: from, Filters: filters, Features: features}
	}
	trust := func(a, b *bootstrap.Server) bool { return a.Features.TrustedXDSServer == b.Features.TrustedXDSServer }
	c.Listeners = &client.Type[*resource.Listener]{
		URL: resource.ListenerURL, Name: "Listener", Whole: true,
		Decode: func(from *bootstrap.Server, raw []byte) (*resource.Listener, error) {
			return resource.ParseListener(in(from), raw)
		},
		Alike: trust, // filters may depend on it
	}
	c.Routes = &client.Type[*resource.RouteConfig]{
		URL: resource.RouteConfigURL, Name: "RouteConfiguration",
		Decode: func(from *bootstrap.Server, raw []byte) (*resource.RouteConfig, error) {
			return resource.ParseRouteConfig(in(from), raw)
		},
		Alike: trust, // A81
	}
	c.Clusters = &client.Type[*resource.Cluster]{
		URL: resource.ClusterURL, Name: "Cluster", Whole: true,
		Decode: func(from *bootstrap.Server, raw []byte) (*resource.Cluster, error) {
			return resource.ParseCluster(in(from), raw)
		},
		Alike: func(a, b *bootstrap.Server) bool { return a.Key() == b.Key() }, // load reports go to the server
	}
	c.Endpoints = &client.Type[*resource.Endpoints]{
		URL: resource.EndpointsURL, Name: "ClusterLoadAssignment",
		Decode: func(from *bootstrap.Server, raw []byte) (*resource.Endpoints, error) {
			return resource.ParseEndpoints(in(from), raw)
		},
	}
}
