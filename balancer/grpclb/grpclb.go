// SPDX-License-Identifier: Apache-2.0

// Package grpclb is a balancer that is told by a load balancer, a server of the service
// grpc.lb.v1.LoadBalancer, which servers to use (load-balancing.md; gRFC A5, gRFC A26).
// Import it to register the policy "grpclb":
//
//	import _ "google.golang.org/grpc/balancer/grpclb"
//
// Then a service config may choose it, and the dns resolver looks for load balancers, which
// are SRV records of the name _grpclb._tcp.<host>. Other resolvers name them by package
// grpclb/state. The policy's configuration:
//
//	{
//	  "childPolicy": [{"pick_first": {}}],  // or round_robin, the default
//	  "serviceName": "...",                 // what to ask for; the target's host otherwise
//	  "initialFallbackTimeout": "10s"
//	}
//
// RPCs carry the token that the load balancer gave the server in "lb-token". RPCs that it
// wants dropped fail with codes.Unavailable.
//
// The addresses of servers that the resolver found are the fallback: they are used if the
// load balancer sends no list of servers within the timeout or can't be reached, if it is
// lost and so are the servers, and if it says so. Its next list ends that.
//
// With a credentials.Bundle, its modes are used: "balancer" for the load balancer,
// "backend-from-balancer" for servers that it named, and the bundle as it is for those of the
// resolver.
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

// ParseConfig implements balancer.ConfigParser. Of the child policies the first one that is
// round_robin or pick_first counts.
func (builder) ParseConfig(text json.RawMessage) (serviceconfig.LoadBalancingConfig, error) {
	c, err := parseConfig(text)
	if err != nil {
		return nil, err
	}
	return c, nil
}
