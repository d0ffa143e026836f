// SPDX-License-Identifier: Apache-2.0

// Package clustermanager has a policy with a child for each cluster of a channel. For each RPC it
// picks with the child of the cluster that the resolver's selector has chosen (gRFC A31).
// Importing the package registers the policy.
package clustermanager

import (
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

// waiting is the picker of a child that has not reported a state yet.
var waiting = base.NewErrPicker(balancer.ErrNoSubConnAvailable)

type builder struct{}

func (builder) Name() string { return Name }

// Tidy implements gracefulswitch.Tidy.
func (builder) Tidy() {}

// config is the policy's configuration.
type config struct {
	serviceconfig.LoadBalancingConfig
	children map[string]*gracefulswitch.Config
}

// ParseConfig parses the field "children", a map from names to objects with a "childPolicy".
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

// manager is the balancer.
type manager struct {
	cc   balancer.ClientConn
	opts buildoptions.Kept

	// children is changed only by the methods of balancer.Balancer, with mu held. These may read
	// it without mu. If a picker shares the map, put copies it before a change.
	children map[string]*child

	mu     sync.Mutex
	paused bool // UpdateClientConnState is running, and will report when it is done
	shared bool // a picker uses children
	count  [connectivity.Shutdown + 1]int
	closed bool
}

// child is a child of the manager, and the ClientConn of the child's policy.
type child struct {
	balancer.ClientConn
	manager *manager
	policy  gracefulswitch.Balancer
	gone    bool // guarded by manager.mu

	// state is guarded by manager.mu. After TransientFailure it stays so until the child is Ready
	// or Idle.
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

// UpdateClientConnState adds and removes children. When it returns, the channel's picker has the
// new set of children (A31).
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

// put sets a child. If ch is nil, it removes the child.
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

// reportLocked reports the best state of the children, and the picker, to the channel.
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

// ResolverError passes the error to all children. If there are none, RPCs fail with the error's
// text.
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

// ExitIdle calls all children.
func (m *manager) ExitIdle() {
	for _, ch := range m.children {
		ch.policy.ExitIdle()
	}
}

// Close closes the children. The manager reports nothing afterwards.
func (m *manager) Close() {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	for name, ch := range maps.All(m.children) {
		m.put(name, nil)
		ch.policy.Close()
	}
}

// picker has the children, and each child's last picker. A report of a child makes no new map, so
// that its cost does not depend on the number of children.
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
	// A selector chooses only clusters that have a child: it has been added by then, and has not
	// been removed yet (A31).
	return balancer.PickResult{}, status.Errorf(codes.Internal, "the channel has no cluster %q, which is chosen for the RPC", name)
}
