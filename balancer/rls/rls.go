// SPDX-License-Identifier: Apache-2.0

// Package rls has a balancing policy that asks a server of the service
// grpc.lookup.v1.RouteLookupService where to send each RPC. The answer names targets, each of which
// gets a child policy. Importing the package registers the policy.
//
// Its configuration has a message of grpc.lookup.v1 as JSON (rls_config.proto), and the
// configuration of the child policies:
//
//	{
//	  "routeLookupConfig": {
//	    "grpcKeybuilders": [{
//	      "names": [{"service": "pkg.Service", "method": "M"}],
//	      "headers": [{"key": "k", "names": ["header", "other-header"]}],
//	      "extraKeys": {"host": "h", "service": "s", "method": "m"},
//	      "constantKeys": {"c": "v"}
//	    }],
//	    "lookupService": "dns:///lookup.example.com",
//	    "lookupServiceTimeout": "10s",
//	    "maxAge": "300s",        // how long an answer is valid; from 0.1 s to 5 minutes
//	    "staleAge": "240s",      // when a new lookup begins; the answer stays in use meanwhile
//	    "cacheSizeBytes": 1048576,
//	    "defaultTarget": "..."   // for RPCs that the service has no answer for
//	  },
//	  "routeLookupChannelServiceConfig": {...},    // for the channel to the service
//	  "childPolicy": [{"policy": {...}}],          // the first one that is registered
//	  "childPolicyConfigTargetFieldName": "field"  // of its configuration; it gets the target
//	}
//
// An RPC whose keys have no answer yet waits for one. If the lookup fails, because the service
// fails, is slow, or the policy throttles its lookups, RPCs with these keys go to the default
// target, or fail with codes.Unavailable if there is none. After a failure the policy does not ask about these
// keys for a while: for a second at first, for two minutes after many failures. Of the targets in an
// answer, RPCs go to the first that is not in TransientFailure. They carry the answer's header data
// in the metadata "x-google-rls-data".
//
// All of this package may change or be removed in a later release.
package rls

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/base"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal"
	"google.golang.org/grpc/internal/backoff"
	lookuppb "google.golang.org/grpc/internal/proto/grpc_lookup_v1"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/serviceconfig"
	"google.golang.org/protobuf/encoding/protojson"
)

// Name is the name of the policy.
const Name = "rls_experimental"

func init() { balancer.Register(builder{}) }

type builder struct{}

func (builder) Name() string { return Name }

func (builder) Build(cc balancer.ClientConn, opts balancer.BuildOptions) balancer.Balancer {
	b := &lb{
		cc:       cc,
		opts:     opts,
		backoff:  backoff.Default,
		cache:    newCache(),
		pending:  make(map[cacheKey]struct{}),
		children: make(map[string]*child),
	}
	b.metrics = newMetrics(b)
	return b
}

// ParseConfig implements balancer.ConfigParser.
func (builder) ParseConfig(text json.RawMessage) (serviceconfig.LoadBalancingConfig, error) {
	var in struct {
		RouteLookupConfig                json.RawMessage              `json:"routeLookupConfig"`
		RouteLookupChannelServiceConfig  json.RawMessage              `json:"routeLookupChannelServiceConfig"`
		ChildPolicy                      []map[string]json.RawMessage `json:"childPolicy"`
		ChildPolicyConfigTargetFieldName string                       `json:"childPolicyConfigTargetFieldName"`
	}
	if err := json.Unmarshal(text, &in); err != nil {
		return nil, fmt.Errorf("rls: json unmarshal failed for service config %s: %w", text, err)
	}
	lookup := &lookuppb.RouteLookupConfig{}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(in.RouteLookupConfig, lookup); err != nil {
		return nil, fmt.Errorf("rls: bad RouteLookupConfig proto %s: %w", in.RouteLookupConfig, err)
	}
	out, err := parseLookup(lookup)
	if err != nil {
		return nil, err
	}
	if in.RouteLookupChannelServiceConfig != nil {
		// An invalid one is refused here, so that the channel that there is stays (gRFC A21).
		parse := internal.ParseServiceConfig.(func(string) *serviceconfig.ParseResult)
		if err := parse(string(in.RouteLookupChannelServiceConfig)).Err; err != nil {
			return nil, fmt.Errorf("rls: bad control channel service config %q: %w", in.RouteLookupChannelServiceConfig, err)
		}
		out.serviceConfig = string(in.RouteLookupChannelServiceConfig)
	}
	if in.ChildPolicyConfigTargetFieldName == "" {
		return nil, fmt.Errorf("rls: childPolicyConfigTargetFieldName field is not set in service config %s", text)
	}
	out.targetField = in.ChildPolicyConfigTargetFieldName
	if err := out.parseChild(in.ChildPolicy); err != nil {
		return nil, err
	}
	return out, nil
}

// UpdateClientConnState implements balancer.Balancer.
func (b *lb) UpdateClientConnState(s balancer.ClientConnState) error {
	config, ok := s.BalancerConfig.(*lbConfig)
	if !ok {
		return fmt.Errorf("%w: %s got a configuration of type %T", balancer.ErrBadResolverState, Name, s.BalancerConfig)
	}
	fresh := b.serviceFor(config, s.ResolverState)
	b.mu.Lock()
	old := b.configure(config, s.ResolverState, fresh)
	tell := make([]*child, 0, len(b.children))
	for _, c := range b.children {
		tell = append(tell, c)
	}
	dead := b.collect()
	b.publish()
	b.mu.Unlock()

	old.stop()
	closeAll(dead)
	var first error
	for _, c := range tell {
		if err := b.tell(c); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// serviceFor starts the service of a configuration. It returns nil if the present one stays. It holds no lock: a channel
// calls the program's code, such as resolvers and credentials.
func (b *lb) serviceFor(config *lbConfig, state resolver.State) *service {
	b.mu.Lock()
	before := b.config
	b.mu.Unlock()
	if before != nil && before.sameService(config) {
		return nil
	}
	return startService(b, config, state)
}

// configure applies a configuration, with a service if that is a fresh one. It returns the service that it replaces, or
// nil. The caller must hold mu.
func (b *lb) configure(config *lbConfig, state resolver.State, fresh *service) (old *service) {
	before := b.config
	b.config, b.state = config, state
	if fresh != nil {
		old, b.service = b.service, fresh
		b.throttle = throttle{}
	}
	b.cache.resize(config.cacheSize, time.Now(), b.release)
	if before == nil || before.defaultTarget != config.defaultTarget {
		was := b.defaultTarget
		b.defaultTarget = nil
		if config.defaultTarget != "" {
			b.defaultTarget = b.hold(config.defaultTarget)
		}
		if was != nil {
			b.drop(was)
		}
	}
	return old
}

// ResolverError implements balancer.Balancer.
func (b *lb) ResolverError(err error) {
	b.mu.Lock()
	if b.config == nil {
		b.cc.UpdateState(balancer.State{
			ConnectivityState: connectivity.TransientFailure,
			Picker:            base.NewErrPicker(errors.New("name resolver error: " + err.Error())),
		})
	}
	tell := b.running()
	b.mu.Unlock()
	b.applying.Lock() // so that no child is between its policy's beginning and its first state
	defer b.applying.Unlock()
	for _, c := range tell {
		if c.built { // the others get their first state soon, and it is not in error
			c.policy.ResolverError(err)
		}
	}
}

// ExitIdle implements balancer.Balancer.
func (b *lb) ExitIdle() {
	b.mu.Lock()
	tell := b.running()
	b.mu.Unlock()
	for _, c := range tell {
		c.policy.ExitIdle()
	}
}

// running returns the children. The caller must hold mu.
func (b *lb) running() []*child {
	out := make([]*child, 0, len(b.children))
	for _, c := range b.children {
		out = append(out, c)
	}
	return out
}

// UpdateSubConnState is never called, as every SubConn has a listener.
func (b *lb) UpdateSubConnState(balancer.SubConn, balancer.SubConnState) {}

// Close implements balancer.Balancer.
func (b *lb) Close() {
	b.mu.Lock()
	b.closed = true
	if b.purging != nil {
		b.purging.Stop()
	}
	b.cache.clear(b.release)
	if b.defaultTarget != nil {
		b.drop(b.defaultTarget)
		b.defaultTarget = nil
	}
	dead := b.collect()
	service := b.service
	b.service = nil
	b.mu.Unlock()
	b.metrics.stop()
	service.stop()
	b.tasks.Wait()
	closeAll(dead)
}
