// SPDX-License-Identifier: Apache-2.0

// Package autosharding registers the policy "autosharding_experimental". Its purpose is to send
// each RPC to the endpoints that a sharding service has assigned to the RPC's key (gRFC A119, a
// draft). Its configuration:
//
//	{
//	  "channelFactoryKey": "...",         // required: how to connect to the sharding service
//	  "autoshardingTarget": "...",        // required: what to ask the service for
//	  "keyHeaderName": "...",             // required: the metadata that has an RPC's key
//	  "enableFallback": false,
//	  "initialAssignmentTimeout": "60s"
//	}
//
// There is no way yet to register a channel factory, and no protocol of sharding services: the
// draft does not define them. So the policy never gets an assignment, and does what the draft says
// for that case. With enableFallback, RPCs go to all endpoints in turn. Without it, they fail at
// once with codes.Unavailable, as there is nothing to wait for.
//
// All of this package may change or be removed in a later release.
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

// assignmentTimeout is the default of initialAssignmentTimeout.
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

// autosharding is the balancer. It needs no lock, as its methods are not called concurrently.
type autosharding struct {
	cc       balancer.ClientConn
	opts     balancer.BuildOptions
	fallback *gracefulswitch.Balancer // nil unless enableFallback is set
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

// UpdateSubConnState is never called, as every SubConn has a listener.
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
