// SPDX-License-Identifier: Apache-2.0

// Package xds has channels and servers configured by a control plane that speaks xDS, without
// proxies beside them (gRFC A27 and those that build on it). Importing it registers the resolver
// of targets such as "xds:///service" and the policies that control planes may choose;
// [NewGRPCServer] makes servers.
//
// # Bootstrap
//
// Where the control plane is, and how to talk to it, is said by a JSON file that the environment
// variable GRPC_XDS_BOOTSTRAP names, or by GRPC_XDS_BOOTSTRAP_CONFIG itself:
//
//	{
//	  "xds_servers": [{
//	    "server_uri": "dns:///control-plane.example.com:18000",
//	    "channel_creds": [{"type": "insecure"}]
//	  }],
//	  "node": {"id": "client-1"}
//	}
//
// The file is read when the first channel needs it. Without one a channel of scheme xds is in
// TransientFailure, and its RPCs fail with Unavailable and say so.
//
// # What is shared
//
// Channels with the same target share one ADS stream, one copy of each resource, and load
// reports; channels with other targets share the connection. Channels close what they don't need
// any more by themselves: there is nothing to close but the channels.
//
// Package credentials/xds makes credentials that control planes configure.
package xds

import (
	"fmt"

	_ "google.golang.org/grpc/balancer/leastrequest"                // registers least_request_experimental
	_ "google.golang.org/grpc/balancer/randomsubsetting"            // registers random_subsetting_experimental
	_ "google.golang.org/grpc/balancer/ringhash"                    // registers ring_hash_experimental
	_ "google.golang.org/grpc/balancer/rls"                         // registers rls_experimental
	_ "google.golang.org/grpc/balancer/weightedroundrobin"          // registers weighted_round_robin
	_ "google.golang.org/grpc/balancer/weightedtarget"              // registers weighted_target_experimental
	_ "google.golang.org/grpc/credentials/tls/certprovider/pemfile" // registers file_watcher
	_ "google.golang.org/grpc/internal/xds/balancer/cds"            // registers cds_experimental
	_ "google.golang.org/grpc/internal/xds/balancer/clustermanager" // registers xds_cluster_manager_experimental
	_ "google.golang.org/grpc/internal/xds/balancer/wrrlocality"    // registers xds_wrr_locality_experimental
	xdsresolver "google.golang.org/grpc/internal/xds/resolver"
	"google.golang.org/grpc/internal/xds/xdsclient"
	"google.golang.org/grpc/resolver"
)

func init() { resolver.Register(xdsresolver.Builder{}) }

// NewXDSResolverWithConfigForTesting returns a resolver of scheme xds whose bootstrap
// configuration is bootstrapConfig, and not that of the environment, for
// grpc.WithResolvers. It shares nothing with other channels but those that are made with it. It
// fails if the configuration is not valid.
func NewXDSResolverWithConfigForTesting(bootstrapConfig []byte) (resolver.Builder, error) {
	b, err := xdsclient.ParseBootstrap(bootstrapConfig)
	if err != nil {
		return nil, fmt.Errorf("xds: %w", err)
	}
	return xdsresolver.Builder{Pool: xdsclient.NewPoolOf(b)}, nil
}
