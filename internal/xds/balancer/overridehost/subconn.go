// SPDX-License-Identifier: Apache-2.0

package overridehost

import (
	"time"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal/xds/call"
	"google.golang.org/grpc/resolver"
)

// NewSubConn implements balancer.ClientConn.
func (p *policy) NewSubConn(addrs []resolver.Address, opts balancer.NewSubConnOptions) (balancer.SubConn, error) {
	return p.newSubConn(addrs, opts, false)
}

func (p *policy) newSubConn(addrs []resolver.Address, opts balancer.NewSubConnOptions, own bool) (*subConn, error) {
	sc := &subConn{policy: p, state: connectivity.Idle, own: own, listener: opts.StateListener}
	if len(addrs) == 1 {
		sc.address = addrs[0].Addr
	}
	opts.StateListener = sc.changed
	//lint:ignore SA1019 a policy may still give several addresses
	inner, err := p.ClientConn.NewSubConn(addrs, opts)
	if err != nil {
		return nil, err
	}
	sc.SubConn = inner
	p.mu.Lock()
	e := p.entries[sc.address]
	var replaced *subConn
	if e != nil {
		if e.sub != nil && e.sub.own {
			replaced = e.sub
		}
		e.sub = sc
	}
	p.mu.Unlock()
	if replaced != nil {
		replaced.SubConn.Shutdown()
	}
	return sc, nil
}

// RemoveSubConn implements balancer.ClientConn.
func (p *policy) RemoveSubConn(sc balancer.SubConn) { sc.Shutdown() }

// UpdateAddresses implements balancer.ClientConn.
func (p *policy) UpdateAddresses(sc balancer.SubConn, addrs []resolver.Address) {
	//lint:ignore SA1019 a policy may still use it
	sc.UpdateAddresses(addrs)
}

// changed is called when the state of the connection changes.
func (sc *subConn) changed(s balancer.SubConnState) {
	p := sc.policy
	p.mu.Lock()
	sc.state = s.ConnectivityState
	own := sc.own
	if s.ConnectivityState == connectivity.Shutdown {
		p.forgetLocked(sc)
	}
	if own {
		p.reportLocked()
	}
	p.mu.Unlock()
	if !own && sc.listener != nil {
		sc.listener(s)
	}
}

func (p *policy) forgetLocked(sc *subConn) {
	if e := p.entries[sc.address]; e != nil && e.sub == sc {
		e.sub = nil
	}
}

// Shutdown implements balancer.SubConn. It keeps the SubConn if a session uses it.
func (sc *subConn) Shutdown() {
	p := sc.policy
	p.mu.Lock()
	e := p.entries[sc.address]
	keep := !p.closed && e != nil && e.sub == sc && !e.used.IsZero() && time.Since(e.used) < p.idle && p.mayUseLocked(e)
	if sc.own = keep; keep {
		p.sweepLocked()
	} else {
		p.forgetLocked(sc)
	}
	p.mu.Unlock()
	if !keep {
		sc.SubConn.Shutdown()
	}
}

func (p *policy) mayUseLocked(e *entry) bool {
	for _, h := range p.health {
		if h == e.health {
			return true
		}
	}
	return false
}

// Pick implements balancer.Picker.
func (k *picker) Pick(info balancer.PickInfo) (balancer.PickResult, error) {
	i := call.From(info.Ctx)
	if i != nil && len(i.Hosts) > 0 {
		if sc, wait := k.session(i); wait {
			return balancer.PickResult{}, balancer.ErrNoSubConnAvailable
		} else if sc != nil {
			return balancer.PickResult{SubConn: sc}, nil
		}
	}
	r, err := k.child.Pick(info)
	sc, ok := r.SubConn.(*subConn)
	if err != nil || !ok {
		return r, err
	}
	r.SubConn = sc.SubConn
	if i != nil {
		k.note(i, sc)
	}
	return r, nil
}

// note stores in the RPC's Info which endpoint was picked.
func (k *picker) note(i *call.Info, sc *subConn) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if e := k.entries[sc.address]; e != nil {
		if len(i.Hosts) > 0 {
			e.used = time.Now()
		}
		i.SetPicked(e.addresses)
	}
}

// session returns the SubConn of the session, or reports whether the RPC has to wait for one (A75).
func (k *picker) session(i *call.Info) (ready balancer.SubConn, wait bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	var idle, none *entry
	connecting := false
	for _, address := range i.Hosts {
		e := k.entries[address]
		if e == nil || !k.mayUseLocked(e) {
			continue
		}
		e.used = time.Now()
		switch {
		case e.sub == nil && none == nil:
			none = e
		case e.sub == nil:
		case e.sub.state == connectivity.Ready:
			i.SetPicked(e.addresses)
			return e.sub.SubConn, false
		case e.sub.state == connectivity.Idle && idle == nil:
			idle = e
		case e.sub.state == connectivity.Connecting:
			connecting = true
		}
	}
	switch {
	case idle != nil:
		go idle.sub.Connect()
		return nil, true
	case connecting:
		return nil, true
	case none != nil:
		go k.connect(none.address)
		return nil, true
	}
	return nil, false
}

// connect connects to an address that a session wants and for which there is no SubConn.
func (p *policy) connect(to resolver.Address) {
	p.mu.Lock()
	e := p.entries[to.Addr]
	if e == nil || e.sub != nil || p.closed {
		p.reportLocked()
		p.mu.Unlock()
		return
	}
	p.sweepLocked()
	p.mu.Unlock()
	if sc, err := p.newSubConn([]resolver.Address{to}, balancer.NewSubConnOptions{}, true); err == nil {
		sc.Connect()
	}
}
