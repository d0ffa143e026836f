// SPDX-License-Identifier: Apache-2.0

// Package weightedtarget has a policy that distributes RPCs among child policies by weight (gRFC
// A28). With xDS each child is a locality. The endpoints must be marked with the child that they
// are for, which only xDS does. Importing the package registers the policy.
//
// All of this package may change or be removed in a later release.
package weightedtarget

import (
	"encoding/json"
	"errors"
	"fmt"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/base"
	"google.golang.org/grpc/balancer/weightedtarget/weightedaggregator"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/grpclog"
	"google.golang.org/grpc/internal/balancer/buildoptions"
	"google.golang.org/grpc/internal/balancer/gracefulswitch"
	"google.golang.org/grpc/internal/few"
	internalgrpclog "google.golang.org/grpc/internal/grpclog"
	"google.golang.org/grpc/internal/hierarchy"
	iserviceconfig "google.golang.org/grpc/internal/serviceconfig"
	"google.golang.org/grpc/internal/wrr"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/serviceconfig"
)

// NewRandomWRR returns the scheduler that chooses among the children. A program may replace it
// before the first balancer is built.
var NewRandomWRR = wrr.NewRandom

func init() {
	balancer.Register(builder{})
}

var logger = internalgrpclog.NewPrefixLogger(grpclog.Component("weightedtarget"), "")

type localityKey struct{}

// LocalityFromResolverState returns the name of the target that the state is for, if the caller is
// a policy below this one. Otherwise it returns "".
func LocalityFromResolverState(state resolver.State) string {
	name, _ := state.Attributes.Value(localityKey{}).(string)
	return name
}

type builder struct{}

func (builder) Name() string { return Name }

// Tidy implements gracefulswitch.Tidy.
func (builder) Tidy() {}

func (builder) Build(cc balancer.ClientConn, opts balancer.BuildOptions) balancer.Balancer {
	b := &weightedTarget{cc: cc, opts: buildoptions.Keep(cc, opts)}
	b.states = weightedaggregator.New(cc, logger, NewRandomWRR)
	b.states.Start()
	return b
}

// ParseConfig returns a *LBConfig.
func (builder) ParseConfig(js json.RawMessage) (serviceconfig.LoadBalancingConfig, error) {
	var raw struct {
		Targets map[string]struct {
			Weight      uint32          `json:"weight"`
			ChildPolicy json.RawMessage `json:"childPolicy"`
		} `json:"targets"`
	}
	if err := json.Unmarshal(js, &raw); err != nil {
		return nil, fmt.Errorf("%s: %w", Name, err)
	}
	config := &LBConfig{Targets: make(map[string]Target)}
	for name, t := range raw.Targets {
		if len(t.ChildPolicy) == 0 {
			config.Targets[name] = Target{Weight: t.Weight}
			continue
		}
		child, err := iserviceconfig.SelectBalancer(t.ChildPolicy, lookup)
		if err != nil {
			return nil, fmt.Errorf("%s: target %q: %w", Name, name, err)
		}
		config.Targets[name] = Target{Weight: t.Weight, ChildPolicy: &child}
	}
	return config, nil
}

// weightedTarget is the balancer. It needs no lock, as its methods are not called concurrently.
type weightedTarget struct {
	// Immutable.
	cc     balancer.ClientConn
	opts   buildoptions.Kept
	states *weightedaggregator.Aggregator

	children few.Map[string, *gracefulswitch.Balancer]
}

// childConn is the ClientConn of a child.
type childConn struct {
	balancer.ClientConn
	name   string
	parent *weightedTarget
}

// BuildOptions implements buildoptions.Owner.
func (c *childConn) BuildOptions() balancer.BuildOptions { return c.parent.opts.Of(c.ClientConn) }

// UpdateState implements balancer.ClientConn.
func (c *childConn) UpdateState(s balancer.State) {
	c.parent.states.UpdateState(c.name, s)
}

// UpdateClientConnState makes and removes children as the configuration says, and passes each child
// its endpoints. The error joins the children's errors.
func (b *weightedTarget) UpdateClientConnState(s balancer.ClientConnState) error {
	config, ok := s.BalancerConfig.(*LBConfig)
	if !ok {
		return fmt.Errorf("%w: %s got a configuration of type %T", balancer.ErrBadResolverState, Name, s.BalancerConfig)
	}
	b.states.PauseStateUpdates()
	defer b.states.ResumeStateUpdates()
	b.states.NeedUpdateStateOnResume()
	for name := range b.children.All {
		if _, ok := config.Targets[name]; !ok {
			b.remove(name)
		}
	}
	var errs []error
	endpoints := hierarchy.Group(s.ResolverState.Endpoints)
	for name, target := range config.Targets {
		own := s.ResolverState
		own.Endpoints, own.Addresses = endpoints[name], nil
		for _, e := range own.Endpoints {
			own.Addresses = append(own.Addresses, e.Addresses...)
		}
		own.Attributes = own.Attributes.WithValue(localityKey{}, name)
		if err := b.update(name, target, own); err != nil {
			errs = append(errs, fmt.Errorf("target %q: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

// update passes a child its state. It makes the child if there is none.
func (b *weightedTarget) update(name string, target Target, s resolver.State) error {
	if target.ChildPolicy == nil {
		if _, ok := b.children.Get(name); ok {
			b.remove(name)
		}
		return fmt.Errorf("%w: there is no child policy", balancer.ErrBadResolverState)
	}
	policy := balancer.Get(target.ChildPolicy.Name)
	if policy == nil {
		return fmt.Errorf("%w: the policy %q is not known", balancer.ErrBadResolverState, target.ChildPolicy.Name)
	}
	child, ok := b.children.Get(name)
	if !ok {
		child = gracefulswitch.New(&childConn{b.cc, name, b}, b.opts.Of(b.cc))
		b.children.Set(name, child)
		b.states.Add(name, target.Weight)
	}
	b.states.UpdateWeight(name, target.Weight)
	return child.UpdateClientConnState(balancer.ClientConnState{
		ResolverState:  s,
		BalancerConfig: &gracefulswitch.Config{Child: policy, ChildConfig: target.ChildPolicy.Config},
	})
}

func (b *weightedTarget) remove(name string) {
	b.states.Remove(name)
	child, _ := b.children.Get(name)
	child.Close()
	b.children.Delete(name)
}

// ResolverError passes err to all children. If there are none, RPCs fail with the text of err; a status
// that err carries does not become theirs.
func (b *weightedTarget) ResolverError(err error) {
	if b.children.Len() == 0 {
		picker := base.NewErrPicker(errors.New(err.Error()))
		b.cc.UpdateState(balancer.State{ConnectivityState: connectivity.TransientFailure, Picker: picker})
		return
	}
	for _, child := range b.children.All {
		child.ResolverError(err)
	}
}

// UpdateSubConnState is never called, as every SubConn has a listener.
func (b *weightedTarget) UpdateSubConnState(_ balancer.SubConn, s balancer.SubConnState) {
	logger.Errorf("a state (%v) came by UpdateSubConnState; it is ignored", s)
}

// ExitIdle calls ExitIdle of all children.
func (b *weightedTarget) ExitIdle() {
	for _, child := range b.children.All {
		child.ExitIdle()
	}
}

// Close closes the children. The balancer reports nothing after that.
func (b *weightedTarget) Close() {
	b.states.Stop()
	for name := range b.children.All {
		b.remove(name)
	}
}
