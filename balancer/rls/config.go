// SPDX-License-Identifier: Apache-2.0

package rls

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"time"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/internal/balancer/gracefulswitch"
	lookuppb "google.golang.org/grpc/internal/proto/grpc_lookup_v1"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/serviceconfig"
)

const (
	// maxAge is the longest time for which an answer is valid, and the default.
	maxAge = 5 * time.Minute
	// minAge is the shortest time for which an answer is valid. If the answer were not valid when
	// the RPC that waits for it uses it, the RPC would cause one lookup after the other.
	minAge = 100 * time.Millisecond
	// lookupTimeout is the default of lookupServiceTimeout.
	lookupTimeout = 10 * time.Second
	// maxCacheSize is the largest cache size that a configuration can set, in bytes.
	maxCacheSize = 5 << 20
	// placeholder is the target with which ParseConfig tries out a child's configuration.
	placeholder = "target_name_to_be_filled_in_later"
)

// lbConfig is the policy's configuration. It does not change.
type lbConfig struct {
	serviceconfig.LoadBalancingConfig

	keys          keyBuilders
	lookupService string
	timeout       time.Duration
	maxAge        time.Duration
	staleAge      time.Duration // 0: answers never become stale
	cacheSize     int64
	defaultTarget string
	serviceConfig string // JSON, for the channel to the service

	policy      balancer.Builder // the children's policy
	fields      map[string]json.RawMessage
	targetField string
}

// sameService reports whether both need the same channel to the same service.
func (c *lbConfig) sameService(o *lbConfig) bool {
	return c.lookupService == o.lookupService && c.timeout == o.timeout && c.serviceConfig == o.serviceConfig
}

func parseLookup(in *lookuppb.RouteLookupConfig) (*lbConfig, error) {
	keys, err := newKeyBuilders(in.GetGrpcKeybuilders())
	if err != nil {
		return nil, err
	}
	out := &lbConfig{
		keys: keys, lookupService: in.GetLookupService(), timeout: lookupTimeout, maxAge: maxAge,
		cacheSize: min(in.GetCacheSizeBytes(), maxCacheSize), defaultTarget: in.GetDefaultTarget(),
	}
	if out.lookupService == "" {
		return nil, fmt.Errorf("rls: empty lookup_service in route lookup config %v", in)
	}
	if err := checkTarget(out.lookupService); err != nil {
		return nil, err
	}
	for name, d := range map[string]time.Duration{
		"lookup_service_timeout": in.GetLookupServiceTimeout().AsDuration(), "max_age": in.GetMaxAge().AsDuration(), "stale_age": in.GetStaleAge().AsDuration(),
	} {
		if d < 0 {
			return nil, fmt.Errorf("rls: %s is below zero in route lookup config %v", name, in)
		}
	}
	if d := in.GetLookupServiceTimeout().AsDuration(); d > 0 {
		out.timeout = d
	}
	if in.GetStaleAge() != nil && in.GetMaxAge() == nil {
		return nil, fmt.Errorf("rls: stale_age is set, but max_age is not in route lookup config %v", in)
	}
	if d := in.GetMaxAge().AsDuration(); d > 0 {
		out.maxAge = min(max(d, minAge), maxAge)
	}
	if d := in.GetStaleAge().AsDuration(); d < out.maxAge {
		out.staleAge = d
	}
	if out.cacheSize <= 0 {
		return nil, fmt.Errorf("rls: cache_size_bytes must be set to a non-zero value: %v", in)
	}
	return out, nil
}

// checkTarget returns an error if grpc.NewClient would not accept target.
func checkTarget(target string) error {
	u, err := url.Parse(target)
	if err == nil && u.Scheme != "" && resolver.Get(u.Scheme) != nil {
		return nil
	}
	// Like grpc.NewClient, take a name without a scheme as one of the default scheme.
	if _, err2 := url.Parse(resolver.GetDefaultScheme() + ":///" + target); err2 != nil {
		return fmt.Errorf("rls: invalid target URI in lookup_service %s: %w", target, err2)
	}
	if err == nil && u.Scheme != "" && u.Opaque == "" {
		return fmt.Errorf("rls: unregistered scheme in lookup_service %s", target)
	}
	return nil
}

// parseChild chooses the first policy that is registered, and checks its configuration with a trial
// target.
func (c *lbConfig) parseChild(policies []map[string]json.RawMessage) error {
	for _, p := range policies {
		if len(p) != 1 {
			return fmt.Errorf("rls: invalid childPolicy config: an entry has %d names, not one", len(p))
		}
		for name, text := range p {
			if c.policy = balancer.Get(name); c.policy == nil {
				continue
			}
			if err := json.Unmarshal(text, &c.fields); err != nil {
				return fmt.Errorf("rls: childPolicy config validation failed: %w", err)
			}
			if _, err := c.child(c.trialTarget()); err != nil {
				return fmt.Errorf("rls: childPolicy config validation failed: %w", err)
			}
			return nil
		}
	}
	return fmt.Errorf("rls: invalid childPolicy config: no supported policies found in %v", policies)
}

func (c *lbConfig) trialTarget() string {
	if c.defaultTarget != "" {
		return c.defaultTarget
	}
	return placeholder
}

// child returns the configuration of a target's child.
func (c *lbConfig) child(target string) (*gracefulswitch.Config, error) {
	out := &gracefulswitch.Config{Child: c.policy}
	parser, ok := c.policy.(balancer.ConfigParser)
	if !ok {
		return out, nil
	}
	fields := maps.Clone(c.fields)
	if fields == nil {
		fields = make(map[string]json.RawMessage)
	}
	name, err := json.Marshal(target)
	if err != nil {
		return nil, err
	}
	fields[c.targetField] = name
	text, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	out.ChildConfig, err = parser.ParseConfig(text)
	return out, err
}
