// SPDX-License-Identifier: Apache-2.0

// Package clustermanager has a policy for each cluster of a channel, and picks with that of the
// cluster which the resolver's selector has chosen for the RPC (gRFC A31). Importing the package
// registers it.
package clustermanager

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/base"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal/balancer/buildoptions"
	"google.golang.org/grpc/internal/balancer/gracefulswitch"
	"google.golang.org/grpc/internal/hierarchy"
	"google.golang.org/grpc/internal/xds/call"
	"google.golang.org/grpc/serviceconfig"
	"google.golang.org/grpc/status"
)

// Name is the name of the policy.
const Name = "xds_cluster_manager_experimental"

func init() { balancer.Register(builder{}) }

// waiting is the picker of a child that has reported nothing yet.
var waiting = base.NewErrPicker(balancer.ErrNoSubConnAvailable)

// WithCluster returns the context of an RPC for a child of the policy.
func WithCluster(ctx context.Context, name string) context.Context {
	return call.With(ctx, &call.Info{Child: name})
}

type builder struct{}

func (builder) Name() string { return Name }

// Tidy implements gracefulswitch.Tidy.
func (builder) Tidy() {}

// config is the policy's configuration.
type config struct {
	serviceconfig.LoadBalancingConfig
	children map[string]*gracefulswitch.Config
}

// ParseConfig reads "children", by name; each has a "childPolicy".
func (builder) ParseConfig(js json.RawMessage) (serviceconfig.LoadBalancingConfig, error) {
	var in struct {
		Children map[string]struct {
			ChildPolicy json.RawMessage `json:"childPolicy"`
		} `json:"children"`
	}
	if err := json.Unmarshal(js, &in); err != nil {
		return nil, fmt.Errorf("%s: %w", Name, err)
	}
	c := &config{children: make(map[string]*gracefulswitch.Config, len(in.Children))}
	for name, child := range in.Children {
		policy, err := gracefulswitch.ParseConfig(child.ChildPolicy)
		if err != nil {
			return nil, fmt.Errorf("%s: child %q: %w", Name, name, err)
		}
		c.children[name] = policy
	}
	return c, nil
}

func (builder) Build(cc balancer.ClientConn, opts balancer.BuildOptions) balancer.Balancer {
	return &manager{cc: cc, opts: buildoptions.Keep(cc, opts), children: make(map[string]*child)}
}

// manager is the policy.
type manager struct {
	cc   balancer.ClientConn
	opts buildoptions.Kept

	// children is changed by the policy's own calls alone, with mu held; they may read it
	// without. One that is shared is copied first.
	children map[string]*child

	mu     sync.Mutex
	paused bool // an update is under way, and reports when it is done
	shared bool // a picker has children
	count  [connectivity.Shutdown + 1]int
	closed bool
}

// child is one of them, and the ClientConn of its policy.
type child struct {
	balancer.ClientConn
	manager *manager
	policy  gracefulswitch.Balancer
	gone    bool // guarded by manager.mu

	// state is guarded by manager.mu. That of one that failed stays so until it is ready, or idle.
	state  connectivity.State
	picker atomic.Pointer[balancer.Picker]
}

// BuildOptions implements buildoptions.Owner.
func (c *child) BuildOptions() balancer.BuildOptions { return c.manager.opts.Of(c.ClientConn) }

// UpdateState implements balancer.ClientConn.
func (c *child) UpdateState(s balancer.State) {
	m := c.manager
	m.mu.Lock()
	defer m.mu.Unlock()
	c.picker.Store(&s.Picker)
	if c.gone {
		return
	}
	if c.state != connectivity.TransientFailure || s.ConnectivityState != connectivity.Connecting {
		m.count[c.state]--
		c.state = s.ConnectivityState
		m.count[c.state]++
	}
	m.reportLocked()
}

// UpdateClientConnState makes and removes children. When it returns the picker knows them (A31).
func (m *manager) UpdateClientConnState(s balancer.ClientConnState) error {
	c, ok := s.BalancerConfig.(*config)
	if !ok {
		return fmt.Errorf("%w: %s got a configuration of type %T", balancer.ErrBadResolverState, Name, s.BalancerConfig)
	}
	m.setPaused(true)
	defer m.setPaused(false)
	for name, ch := range m.children {
		if _, ok := c.children[name]; !ok {
			m.put(name, nil)
			ch.policy.Close()
		}
	}
	var errs []error
	endpoints := hierarchy.Group(s.ResolverState.Endpoints)
	for name, policy := range c.children {
		ch := m.children[name]
		if ch == nil {
			ch = &child{ClientConn: m.cc, manager: m, state: connectivity.Connecting}
			ch.picker.Store(&waiting)
			ch.policy.Init(ch)
			m.put(name, ch)
		}
		own := s.ResolverState
		own.Endpoints, own.Addresses = endpoints[name], nil
		if err := ch.policy.UpdateClientConnState(balancer.ClientConnState{ResolverState: own, BalancerConfig: policy}); err != nil {
			errs = append(errs, fmt.Errorf("cluster %q: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

// put sets a child, or removes it.
func (m *manager) put(name string, ch *child) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.shared {
		m.children, m.shared = maps.Clone(m.children), false
	}
	if ch == nil {
		before := m.children[name]
		before.gone = true
		m.count[before.state]--
		delete(m.children, name)
		return
	}
	m.count[ch.state]++
	m.children[name] = ch
}

func (m *manager) setPaused(paused bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.paused = paused
	if !paused {
		m.reportLocked()
	}
}

// reportLocked tells the channel of the best state, and how to pick now.
func (m *manager) reportLocked() {
	if m.paused || m.closed {
		return
	}
	m.shared = true
	state := connectivity.TransientFailure
	for _, s := range []connectivity.State{connectivity.Ready, connectivity.Connecting, connectivity.Idle} {
		if m.count[s] > 0 {
			state = s
			break
		}
	}
	m.cc.UpdateState(balancer.State{ConnectivityState: state, Picker: picker(m.children)})
}

// ResolverError tells all children.
func (m *manager) ResolverError(err error) {
	if len(m.children) == 0 {
		m.cc.UpdateState(balancer.State{ConnectivityState: connectivity.TransientFailure, Picker: base.NewErrPicker(errors.New(err.Error()))})
		return
	}
	for _, ch := range m.children {
		ch.policy.ResolverError(err)
	}
}

// UpdateSubConnState is never called: every SubConn here has a listener.
func (m *manager) UpdateSubConnState(balancer.SubConn, balancer.SubConnState) {}

// ExitIdle tells all children.
func (m *manager) ExitIdle() {
	for _, ch := range m.children {
		ch.policy.ExitIdle()
	}
}

// Close closes the children. Nothing is reported any more.
func (m *manager) Close() {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	for name, ch := range maps.All(m.children) {
		m.put(name, nil)
		ch.policy.Close()
	}
}

// picker has the children, which pick with what they have reported last. A report makes no other
// one, so that its cost does not depend on how many there are.
type picker map[string]*child

// Pick implements balancer.Picker.
func (p picker) Pick(info balancer.PickInfo) (balancer.PickResult, error) {
	name := ""
	if i := call.From(info.Ctx); i != nil {
		if name = i.Child; i.Failed != nil {
			return balancer.PickResult{}, i.Failed()
		}
	}
	if child, ok := p[name]; ok {
		return (*child.picker.Load()).Pick(info)
	}
	// A selector chooses what the policy knows: it has come by then, and is not yet gone (A31).
	return balancer.PickResult{}, status.Errorf(codes.Internal, "the channel has no cluster %q, which is chosen for the RPC", name)
}
