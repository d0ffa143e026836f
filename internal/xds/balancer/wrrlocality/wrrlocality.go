// SPDX-License-Identifier: Apache-2.0

// Package wrrlocality distributes RPCs among localities by weight (gRFC A52). It uses
// weighted_target, with a target for each locality of the endpoints. All targets have the same
// policy. Importing the package registers the policy.
package wrrlocality

import (
	"encoding/json"
	"errors"
	"fmt"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/weightedtarget"
	"google.golang.org/grpc/grpclog"
	"google.golang.org/grpc/internal/hierarchy"
	iserviceconfig "google.golang.org/grpc/internal/serviceconfig"
	"google.golang.org/grpc/internal/xds/balancer/locality"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/serviceconfig"
)

// Name is the name of the policy.
const Name = "xds_wrr_locality_experimental"

var logger = grpclog.Component("xds")

func init() { balancer.Register(builder{}) }

type builder struct{}

func (builder) Name() string { return Name }

// Tidy implements gracefulswitch.Tidy.
func (builder) Tidy() {}

// config is the policy's configuration.
type config struct {
	serviceconfig.LoadBalancingConfig
	child iserviceconfig.BalancerConfig
}

// ParseConfig parses the field "childPolicy", which is the policy within each locality.
func (builder) ParseConfig(js json.RawMessage) (serviceconfig.LoadBalancingConfig, error) {
	var in struct {
		ChildPolicy json.RawMessage `json:"childPolicy"`
	}
	if err := json.Unmarshal(js, &in); err != nil {
		return nil, fmt.Errorf("%s: %w", Name, err)
	}
	if len(in.ChildPolicy) == 0 {
		return nil, errors.New(Name + ": childPolicy is missing")
	}
	child, err := iserviceconfig.SelectBalancer(in.ChildPolicy, lookup)
	if err != nil {
		return nil, fmt.Errorf("%s: childPolicy: %w", Name, err)
	}
	return &config{child: child}, nil
}

func lookup(name string) (parse iserviceconfig.ParseBalancer, known bool) {
	b := balancer.Get(name)
	if parser, ok := b.(balancer.ConfigParser); ok {
		return parser.ParseConfig, true
	}
	return nil, b != nil
}

func (builder) Build(cc balancer.ClientConn, opts balancer.BuildOptions) balancer.Balancer {
	return &policy{Balancer: balancer.Get(weightedtarget.Name).Build(cc, opts)}
}

// policy is a weighted_target for which UpdateClientConnState makes the configuration.
type policy struct{ balancer.Balancer }

// UpdateClientConnState makes a target for each locality.
func (p *policy) UpdateClientConnState(s balancer.ClientConnState) error {
	c, ok := s.BalancerConfig.(*config)
	if !ok {
		return fmt.Errorf("%w: %s got a configuration of type %T", balancer.ErrBadResolverState, Name, s.BalancerConfig)
	}
	targets := make(map[string]weightedtarget.Target)
	endpoints := make([]resolver.Endpoint, 0, len(s.ResolverState.Endpoints))
	names := make(map[locality.Info][]string)
	var paths hierarchy.Setter
	for _, e := range s.ResolverState.Endpoints {
		info, _ := locality.Of(e)
		path, ok := names[info]
		if !ok {
			name := info.ID.String()
			path = []string{name}
			names[info] = path
			if t, twice := targets[name]; twice { // A52: the first weight counts
				logger.Warningf("locality %s has weights %d and %d; %d is used", name, t.Weight, info.Weight, t.Weight)
			} else {
				targets[name] = weightedtarget.Target{Weight: info.Weight, ChildPolicy: &c.child}
			}
		}
		endpoints = append(endpoints, paths.Set(e, path))
	}
	s.ResolverState.Endpoints = endpoints
	s.BalancerConfig = &weightedtarget.LBConfig{Targets: targets}
	return p.Balancer.UpdateClientConnState(s)
}
