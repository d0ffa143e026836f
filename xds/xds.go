// SPDX-License-Identifier: Apache-2.0

// Package xds has channels and servers that a control plane configures through the xDS protocol,
// without proxies beside them (gRFC A27 and those that build on it). Importing it registers the
// resolver for targets such as "xds:///service", and the load balancing policies that a control
// plane may choose. [NewGRPCServer] makes servers.
//
// # Bootstrap
//
// A JSON file says where the control plane is and how to talk to it. The environment variable
// GRPC_XDS_BOOTSTRAP names that file; GRPC_XDS_BOOTSTRAP_CONFIG may have its contents instead:
//
//	{
//	  "xds_servers": [{
//	    "server_uri": "dns:///control-plane.example.com:18000",
//	    "channel_creds": [{"type": "insecure"}]
//	  }],
//	  "node": {"id": "client-1"}
//	}
//
// The file is read for each target for which no channel is open yet. Without a bootstrap configuration, a channel
// of scheme xds is in TransientFailure, and its RPCs fail with Unavailable and a message that
// says so.
//
// # What is shared
//
// Channels with the same target share one ADS stream, one copy of each resource, and load
// reports. Channels with different targets share only the connection to the control plane. All
// of these are closed when no channel needs them any more, so a program has to close only its
// channels.
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

// NewXDSResolverWithConfigForTesting returns a resolver builder of scheme xds, for
// grpc.WithResolvers. It takes its bootstrap configuration from bootstrapConfig and not from the
// environment. Its channels share nothing with channels that do not use the same builder. It
// fails if the configuration is not valid.
func NewXDSResolverWithConfigForTesting(bootstrapConfig []byte) (resolver.Builder, error) {
	b, err := xdsclient.ParseBootstrap(bootstrapConfig)
	if err != nil {
		return nil, fmt.Errorf("xds: %w", err)
	}
	return xdsresolver.Builder{Pool: xdsclient.NewPoolOf(b)}, nil
}
