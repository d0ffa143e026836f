// SPDX-License-Identifier: Apache-2.0

// Package grpclb has a balancing policy that asks a load balancer, a server of the service
// grpc.lb.v1.LoadBalancer, which servers to use (load-balancing.md; gRFC A5, gRFC A26). Import it
// to register the policy "grpclb":
//
//	import _ "google.golang.org/grpc/balancer/grpclb"
//
// Then a service config may choose the policy, and the dns resolver looks for load balancers, in
// SRV records of the name _grpclb._tcp.<host>. Other resolvers pass their addresses with package
// grpclb/state. The policy's configuration:
//
//	{
//	  "childPolicy": [{"pick_first": {}}],  // or round_robin, the default
//	  "serviceName": "...",                 // what to ask for; the target's endpoint otherwise
//	  "initialFallbackTimeout": "10s"
//	}
//
// An RPC carries, in the metadata "lb-token", the token that the load balancer assigned to the
// server. RPCs that the load balancer wants dropped fail with codes.Unavailable.
//
// The servers that the resolver found are the fallback. The policy uses them if the load balancer
// sends no list of servers within the timeout or can't be reached, if the connections to the load
// balancer and to its servers are lost, and if the load balancer asks for it. The load balancer's
// next list ends the fallback.
//
// If the channel has a credentials.Bundle, the policy uses the bundle's modes: "balancer" for the
// load balancer and "backend-from-balancer" for servers in its lists. For servers that the resolver
// found, it uses the bundle as it is. Client-side health checks are for servers that the resolver
// found alone, as the load balancer checks those in its lists.
package grpclb

import (
	"encoding/json"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/internal/resolver/dns"
	"google.golang.org/grpc/serviceconfig"
)

const policyName = "grpclb"

func init() {
	balancer.Register(builder{})
	dns.EnableSRV()
}

type builder struct{}

func (builder) Name() string { return policyName }

func (builder) Build(cc balancer.ClientConn, opts balancer.BuildOptions) balancer.Balancer {
	return newLB(cc, opts)
}

// ParseConfig implements balancer.ConfigParser. It chooses the first child policy that is
// round_robin or pick_first.
func (builder) ParseConfig(text json.RawMessage) (serviceconfig.LoadBalancingConfig, error) {
	c, err := parseConfig(text)
	if err != nil {
		return nil, err
	}
	return c, nil
}
