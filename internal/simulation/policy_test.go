// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal/channel"
	"google.golang.org/grpc/resolver"
)

func init() {
	balancer.Register(policyBuilder{balancer.Get("round_robin")})
	balancer.Register(policyBuilder{balancer.Get("pick_first")})
}

var roundRobinConfig, pickFirstConfig = configOf("round_robin"), configOf("pick_first")

// configOf is parsed when a history first wants it: the policies are registered by then.
func configOf(name string) func() *channel.ServiceConfig {
	var c *channel.ServiceConfig
	return func() *channel.ServiceConfig {
		if c == nil {
			var err error
			if c, err = channel.ParseServiceConfig(`{"loadBalancingConfig": [{"simulated_`+name+`": {}}]}`, false); err != nil {
				panic(err)
			}
		}
		return c
	}
}

// policyBuilder builds a policy of the module between two ends that the simulation sees: what it is told of
// subchannels, and what it tells the channel.
type policyBuilder struct{ balancer.Builder }

// Name implements balancer.Builder.
func (b policyBuilder) Name() string { return "simulated_" + b.Builder.Name() }

// Tidy implements gracefulswitch.Tidy, as the policies do.
func (policyBuilder) Tidy() {}

// Build implements balancer.Builder.
func (b policyBuilder) Build(cc balancer.ClientConn, opts balancer.BuildOptions) balancer.Balancer {
	p := &policy{ClientConn: cc, b: atWork}
	p.b.policy = p
	return owned{b.Builder.Build(p, opts)}
}

// owned is a policy that owns its subchannels, as the module's do (subconns.Owner).
type owned struct{ balancer.Balancer }

// OwnsSubConns implements subconns.Owner.
func (owned) OwnsSubConns() {}

// policy is the channel as its policy sees it.
type policy struct {
	balancer.ClientConn
	b       *balanced
	members []*member
	last    connectivity.State
	turn    *turns // of the last picker, if the last state is READY
	updates int
}

// member is a subchannel.
type member struct {
	host    *host
	sub     *channel.Subchannel
	state   connectivity.State // that the policy was told last
	dialed  time.Time          // when the last attempt to connect began
	refused bool               // and was refused
}

// member is the subchannel of an address that was made last.
func (p *policy) member(addr string) *member {
	for _, m := range slices.Backward(p.members) {
		if m.host.name == addr {
			return m
		}
	}
	p.b.w.fail("the channel dials %q, which no policy has asked for", addr)
	return &member{}
}

// checkPause follows an attempt to connect that begins.
func (m *member) checkPause(b *balanced) {
	if d := time.Since(m.dialed); m.refused && d < shortPause {
		b.w.fail("%s refused a connection, and is dialed again after %v", m.host.name, d)
	}
	m.dialed, m.refused = time.Now(), false
}

// forgive lets attempts follow without a pause. A nil policy has none.
func (p *policy) forgive() {
	if p != nil {
		for _, m := range p.members {
			m.refused = false
		}
	}
}

// NewSubConn implements balancer.ClientConn.
func (p *policy) NewSubConn(addrs []resolver.Address, opts balancer.NewSubConnOptions) (balancer.SubConn, error) {
	w, listener := p.b.w, opts.StateListener
	m := &member{host: p.b.host(addrs[0].Addr)}
	opts.StateListener = func(s balancer.SubConnState) {
		w.yield(atProgram, nil)
		p.hears(m, s.ConnectivityState)
		listener(s)
	}
	sc, err := p.ClientConn.NewSubConn(addrs, opts)
	if err != nil {
		return nil, err
	}
	m.sub = sc.(*channel.Subchannel)
	w.mu.Lock()
	defer w.mu.Unlock()
	p.members = append(p.members, m)
	return sc, nil
}

// mayBecome are the changes of a subchannel's state: see package channel.
var mayBecome = map[connectivity.State][]connectivity.State{
	connectivity.Idle:             {connectivity.Connecting, connectivity.Shutdown},
	connectivity.Connecting:       {connectivity.Ready, connectivity.TransientFailure, connectivity.Idle, connectivity.Shutdown},
	connectivity.Ready:            {connectivity.Idle, connectivity.Shutdown},
	connectivity.TransientFailure: {connectivity.Idle, connectivity.Shutdown},
}

// hears follows what the policy is told of a subchannel.
func (p *policy) hears(m *member, s connectivity.State) {
	b, w := p.b, p.b.w
	w.note(nil, "the policy hears that %s is %v", m.host.name, s)
	if !slices.Contains(mayBecome[m.state], s) {
		w.fail("a subchannel of %s becomes %v, and was %v", m.host.name, s, m.state)
	}
	was := m.state
	m.state = s
	switch {
	case s == connectivity.Ready && b.first:
		w.reach(memberReady)
		b.retire("another one is in use", func(l *link) bool { return l.host != m.host })
	case s == connectivity.Ready:
		w.reach(memberReady)
	case s == connectivity.Idle && was == connectivity.Connecting && b.first: // pick_first gives up all of them
		b.retire("one was lost at once", func(*link) bool { return true })
	}
	if l := m.sub.Ready(); l != nil && s == connectivity.Ready {
		b.linkOf(l)
	}
}

// UpdateState implements balancer.ClientConn. A policy calls it with locks held: nothing stops here.
func (p *policy) UpdateState(s balancer.State) {
	w := p.b.w
	w.mu.Lock()
	w.note(nil, "the policy is %v", s.ConnectivityState)
	p.last, p.turn = s.ConnectivityState, nil
	p.updates++
	if s.ConnectivityState == connectivity.Ready {
		p.turn = newTurns(p, s.Picker)
		s.Picker = p.turn
	}
	w.mu.Unlock()
	p.ClientConn.UpdateState(s)
}

// tries reports whether a subchannel connects.
func (p *policy) tries() bool {
	return slices.ContainsFunc(p.members, func(m *member) bool { return m.state == connectivity.Connecting })
}

// turns is a picker that says READY, and whose turn it is.
type turns struct {
	balancer.Picker
	p    *policy
	list []balancer.SubConn
	next int
}

// maxTurns is more than there are servers.
const maxTurns = 8

// newTurns finds out about a picker: in which order it picks subchannels. Where it begins is its own choice, by
// chance; here it is moved on, so that a seed does the same again.
func newTurns(p *policy, picker balancer.Picker) *turns {
	t := &turns{Picker: picker, p: p}
	for range maxTurns {
		r, err := picker.Pick(balancer.PickInfo{Ctx: context.Background()})
		if err != nil {
			p.b.w.fail("the policy is READY, and its picker says %v", err)
			return t
		}
		if len(t.list) > 0 && t.list[0] == r.SubConn {
			t.next = 1
			break
		}
		t.list = append(t.list, r.SubConn)
	}
	least := 0
	for i, sc := range t.list {
		m := p.memberOf(sc)
		if m.state != connectivity.Ready {
			p.b.w.fail("the policy's picker has a subchannel of %s, which is %v", m.host.name, m.state)
		}
		if m.host.name < p.memberOf(t.list[least]).host.name {
			least = i
		}
	}
	for t.next%len(t.list) != (least+p.updates)%len(t.list) {
		_, _ = t.pick(balancer.PickInfo{Ctx: context.Background()})
	}
	return t
}

// memberOf is what is known of a subchannel.
func (p *policy) memberOf(sc balancer.SubConn) *member {
	for _, m := range p.members {
		if m.sub == sc {
			return m
		}
	}
	p.b.w.fail("the policy picks a subchannel that it has not made")
	return &member{host: &host{}}
}

// Pick implements balancer.Picker.
func (t *turns) Pick(info balancer.PickInfo) (balancer.PickResult, error) {
	t.p.b.w.mu.Lock()
	defer t.p.b.w.mu.Unlock()
	return t.pick(info)
}

func (t *turns) pick(info balancer.PickInfo) (balancer.PickResult, error) {
	r, err := t.Picker.Pick(info)
	if want := t.list[t.next%len(t.list)]; err != nil || r.SubConn != want {
		t.p.b.w.fail("the policy picks %v, %v, and it is the turn of %v", r.SubConn, err, want)
	}
	t.next++
	return r, err
}

// checkQuiet looks at a channel to which nothing can happen without the clock.
func (b *balanced) checkQuiet() {
	state := b.ch.State()
	for _, k := range b.w.calls {
		if atomic.LoadInt32(&k.picking) != 0 && (state == connectivity.Ready || state == connectivity.Idle || b.closed || state == connectivity.TransientFailure && !k.waits) {
			b.w.fail("call %d waits for a connection, and the channel is %v", k.n, state)
		}
	}
	for _, l := range b.w.links {
		if b.over && l.told && !l.near.closed {
			b.w.fail("connection %d is open, and its channel is closed", l.n)
		}
	}
	if p := b.policy; p != nil && !b.closed {
		b.w.reach(channelChecked)
		p.checkQuiet(state)
		for _, l := range b.w.links {
			if !l.near.closed && l.undisturbed() && !p.uses(l) {
				b.w.fail("connection %d is open, and the channel does not use it", l.n)
			}
		}
	}
}

// uses reports whether a subchannel has a connection, or may be about to have it, or a call has not ended on it.
func (p *policy) uses(l *link) bool {
	for _, m := range p.members {
		if r := m.sub.Ready(); r != nil && p.b.linkOf(r) == l || m.host == l.host && m.state == connectivity.Connecting {
			return true
		}
	}
	return slices.ContainsFunc(p.b.w.calls, func(k *call) bool { return k.link == l && !k.done() })
}

// checkQuiet holds what the policy has told the channel against what it was told.
func (p *policy) checkQuiet(state connectivity.State) {
	w, ready := p.b.w, 0
	if state != p.last {
		w.fail("the policy is %v, and the channel %v", p.last, state)
	}
	for i, m := range p.members {
		switch m.state {
		case connectivity.Shutdown:
			continue
		case connectivity.Ready:
			ready++
			if m.sub.Ready() == nil {
				w.fail("the policy was told that %s is READY, and it has no connection", m.host.name)
			} else if l := p.b.linkOf(m.sub.Ready()); l.far.watch.bye && !l.mayEnd() && l.near.input.len() == 0 {
				w.fail("%s is READY, and its server has taken leave", m.host.name)
			}
			if p.turn == nil || !slices.Contains(p.turn.list, balancer.SubConn(m.sub)) {
				w.fail("%s is READY, and the policy picks others alone", m.host.name)
			}
		}
		if !m.host.listed && !p.b.answering {
			w.fail("%s is not listed, and its subchannel is %v", m.host.name, m.state)
		}
		if slices.ContainsFunc(p.members[i+1:], func(o *member) bool { return o.host == m.host && o.state != connectivity.Shutdown }) {
			w.fail("%s has two subchannels", m.host.name)
		}
	}
	if ready > 1 {
		w.reach(severalReady)
	}
	if p.b.first && state == connectivity.Connecting && !p.tries() && !p.b.answering {
		w.fail("the policy is CONNECTING, and no subchannel of its is")
	}
	if (ready > 0) != (state == connectivity.Ready) || ready > 1 && p.b.first {
		w.fail("the channel is %v, and %d of its subchannels are READY", state, ready)
	}
}
