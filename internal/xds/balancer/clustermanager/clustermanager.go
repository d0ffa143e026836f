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

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/base"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal/balancer/gracefulswitch"
	"google.golang.org/grpc/internal/hierarchy"
	"google.golang.org/grpc/internal/xds/call"
	"google.golang.org/grpc/serviceconfig"
	"google.golang.org/grpc/status"
)

// Name is the name of the policy.
const Name = "xds_cluster_manager_experimental"

func init() { balancer.Register(builder{}) }

// WithCluster returns the context of an RPC for a child of the policy.
func WithCluster(ctx context.Context, name string) context.Context {
	return call.With(ctx, &call.Info{Child: name})
}

// Cluster returns the child that an RPC is for, "" if none is chosen.
func Cluster(ctx context.Context) string {
	if i := call.From(ctx); i != nil {
		return i.Child
	}
	return ""
}

type builder struct{}

func (builder) Name() string { return Name }

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
	return &manager{cc: cc, opts: opts, children: make(map[string]*child)}
}

// manager is the policy.
type manager struct {
	cc   balancer.ClientConn
	opts balancer.BuildOptions

	// children is changed by the policy's own calls alone, with mu held; they may read it
	// without.
	children map[string]*child

	mu     sync.Mutex
	paused bool // an update is under way, and reports when it is done
	closed bool
}

// child is one of them, and the ClientConn of its policy.
type child struct {
	balancer.ClientConn
	manager *manager
	policy  *gracefulswitch.Balancer

	// Guarded by manager.mu. The state of one that failed stays so until it is ready, or idle.
	state  connectivity.State
	picker balancer.Picker
}

// UpdateState implements balancer.ClientConn.
func (c *child) UpdateState(s balancer.State) {
	c.manager.mu.Lock()
	defer c.manager.mu.Unlock()
	c.picker = s.Picker
	if c.state != connectivity.TransientFailure || s.ConnectivityState != connectivity.Connecting {
		c.state = s.ConnectivityState
	}
	c.manager.reportLocked()
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
			ch = &child{ClientConn: m.cc, manager: m, state: connectivity.Connecting, picker: base.NewErrPicker(balancer.ErrNoSubConnAvailable)}
			ch.policy = gracefulswitch.New(ch, m.opts)
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
	if ch == nil {
		delete(m.children, name)
		return
	}
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
	pickers := make(picker, len(m.children))
	var count [connectivity.Shutdown + 1]int
	for name, ch := range m.children {
		pickers[name] = ch.picker
		count[ch.state]++
	}
	state := connectivity.TransientFailure
	for _, s := range []connectivity.State{connectivity.Ready, connectivity.Connecting, connectivity.Idle} {
		if count[s] > 0 {
			state = s
			break
		}
	}
	m.cc.UpdateState(balancer.State{ConnectivityState: state, Picker: pickers})
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

// picker has the pickers of the children. It does not change.
type picker map[string]balancer.Picker

// Pick implements balancer.Picker.
func (p picker) Pick(info balancer.PickInfo) (balancer.PickResult, error) {
	name := Cluster(info.Ctx)
	if child, ok := p[name]; ok {
		return child.Pick(info)
	}
	// A selector chooses what the policy knows: it has come by then, and is not yet gone (A31).
	return balancer.PickResult{}, status.Errorf(codes.Internal, "the channel has no cluster %q, which is chosen for the RPC", name)
}
