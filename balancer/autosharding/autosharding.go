// SPDX-License-Identifier: Apache-2.0

// Package autosharding registers the policy "autosharding_experimental", which is to send
// each RPC to the endpoints that a sharding service assigned its key to (gRFC A119, a draft).
// Its configuration:
//
//	{
//	  "channelFactoryKey": "...",         // required: how to get to the sharding service
//	  "autoshardingTarget": "...",        // required: what to ask that for
//	  "keyHeaderName": "...",             // required: the metadata that has an RPC's key
//	  "enableFallback": false,
//	  "initialAssignmentTimeout": "60s"
//	}
//
// There is no way yet to register a channel factory, and no protocol of sharding services: the
// draft does not fix them. So no policy ever gets an assignment, and each does what it is to do
// without one. With enableFallback RPCs go to all endpoints in turn. Without it they fail with
// codes.Unavailable, at once: there is nothing to wait for.
//
// All of it may change or go in a later release.
package autosharding

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/base"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal/balancer/gracefulswitch"
	internalserviceconfig "google.golang.org/grpc/internal/serviceconfig"
	"google.golang.org/grpc/serviceconfig"
	"google.golang.org/grpc/status"

	_ "google.golang.org/grpc/balancer/roundrobin" // the fallback
)

// Name is the name of the policy.
const Name = "autosharding_experimental"

// assignmentTimeout holds where the configuration says nothing.
const assignmentTimeout = time.Minute

func init() { balancer.Register(builder{}) }

type builder struct{}

func (builder) Name() string { return Name }

func (builder) Build(cc balancer.ClientConn, opts balancer.BuildOptions) balancer.Balancer {
	return &autosharding{cc: cc, opts: opts}
}

// lbConfig is the configuration.
type lbConfig struct {
	serviceconfig.LoadBalancingConfig

	ChannelFactoryKey        string                         `json:"channelFactoryKey"`
	AutoShardingTarget       string                         `json:"autoshardingTarget"`
	KeyHeaderName            string                         `json:"keyHeaderName"`
	EnableFallback           bool                           `json:"enableFallback"`
	InitialAssignmentTimeout internalserviceconfig.Duration `json:"initialAssignmentTimeout"`
}

// ParseConfig implements balancer.ConfigParser.
func (builder) ParseConfig(text json.RawMessage) (serviceconfig.LoadBalancingConfig, error) {
	out := &lbConfig{InitialAssignmentTimeout: internalserviceconfig.Duration(assignmentTimeout)}
	if err := json.Unmarshal(text, out); err != nil {
		return nil, fmt.Errorf("autosharding: unable to unmarshal LBConfig: %w", err)
	}
	switch {
	case out.ChannelFactoryKey == "":
		return nil, errors.New("autosharding: channelFactoryKey field is required")
	case out.AutoShardingTarget == "":
		return nil, errors.New("autosharding: autoshardingTarget field is required")
	case out.KeyHeaderName == "":
		return nil, errors.New("autosharding: keyHeaderName field is required")
	}
	return out, nil
}

// autosharding is the balancer. It is called one call at a time, so it needs no lock.
type autosharding struct {
	cc       balancer.ClientConn
	opts     balancer.BuildOptions
	fallback *gracefulswitch.Balancer // nil unless it is enabled
}

// UpdateClientConnState implements balancer.Balancer.
func (b *autosharding) UpdateClientConnState(s balancer.ClientConnState) error {
	config, ok := s.BalancerConfig.(*lbConfig)
	if !ok {
		return fmt.Errorf("%w: %s got a configuration of type %T", balancer.ErrBadResolverState, Name, s.BalancerConfig)
	}
	if !config.EnableFallback {
		b.Close()
		b.fail(fmt.Sprintf("autosharding: no endpoint available: no channel factory is registered as %q", config.ChannelFactoryKey))
		return nil
	}
	if b.fallback == nil {
		b.fallback = gracefulswitch.New(b.cc, b.opts)
	}
	s.BalancerConfig = &gracefulswitch.Config{Child: balancer.Get("round_robin")}
	return b.fallback.UpdateClientConnState(s)
}

func (b *autosharding) fail(why string) {
	b.cc.UpdateState(balancer.State{
		ConnectivityState: connectivity.TransientFailure,
		Picker:            base.NewErrPicker(status.Error(codes.Unavailable, why)),
	})
}

// ResolverError implements balancer.Balancer.
func (b *autosharding) ResolverError(err error) {
	if b.fallback != nil {
		b.fallback.ResolverError(err)
		return
	}
	b.fail(fmt.Sprintf("name resolver error: %v", err))
}

// UpdateSubConnState is never called: every SubConn here has a listener.
func (b *autosharding) UpdateSubConnState(balancer.SubConn, balancer.SubConnState) {}

// ExitIdle implements balancer.Balancer.
func (b *autosharding) ExitIdle() {
	if b.fallback != nil {
		b.fallback.ExitIdle()
	}
}

// Close implements balancer.Balancer.
func (b *autosharding) Close() {
	if b.fallback != nil {
		b.fallback.Close()
		b.fallback = nil
	}
}
