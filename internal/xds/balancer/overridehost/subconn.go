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
	sc := &subConn{listener: opts.StateListener}
	if err := p.makeInner(sc, addrs, opts); err != nil {
		return nil, err
	}
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

// makeInner sets the remaining fields of sc, which is in no entry yet.
func (p *policy) makeInner(sc *subConn, addrs []resolver.Address, opts balancer.NewSubConnOptions) (err error) {
	sc.policy, sc.state = p, connectivity.Idle
	if len(addrs) == 1 {
		sc.address, sc.made = addrs[0].Addr, addrs[0]
	}
	opts.StateListener = sc.changed
	//lint:ignore SA1019 a policy may still give several addresses
	sc.SubConn, err = p.ClientConn.NewSubConn(addrs, opts)
	return err
}

// RemoveSubConn implements balancer.ClientConn.
func (p *policy) RemoveSubConn(sc balancer.SubConn) { sc.Shutdown() }

// UpdateAddresses implements balancer.ClientConn.
func (p *policy) UpdateAddresses(sc balancer.SubConn, addrs []resolver.Address) {
	//lint:ignore SA1019 a policy may still use it
	sc.UpdateAddresses(addrs)
}

// changed is called when the state of the connection changes. RPCs of sessions that wait for the
// SubConn, or have lost its connection, pick again: the child need not report a new picker, because
// others of its SubConns are to be tried first, or because it uses a higher priority.
func (sc *subConn) changed(s balancer.SubConnState) {
	p := sc.policy
	p.mu.Lock()
	sc.state = s.ConnectivityState
	own := sc.own
	if s.ConnectivityState == connectivity.Shutdown {
		p.forgetLocked(sc)
	}
	p.mu.Unlock()
	if !own && sc.listener != nil {
		sc.listener(s)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if sc.wanted {
		sc.wanted = false
		p.reportLocked()
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
	keep := !p.closed && e != nil && e.sub == sc && !e.used.IsZero() && time.Since(e.used) < p.idle && p.mayUseLocked(e) && sc.fits(e)
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

// fits reports whether a SubConn that would be made now would connect in the same way: an address may have got
// another proxy (A86), hostname (A81) or server name.
func (sc *subConn) fits(e *entry) bool {
	return sc.made.ServerName == e.address.ServerName && sc.made.Attributes.Equal(e.address.Attributes)
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
		if i.Session {
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
		if e.sub == nil {
			if none == nil {
				none = e
			}
			continue
		}
		e.sub.wanted = true
		switch {
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
		go k.connect(none.address.Addr)
		return nil, true
	}
	return nil, false
}

// connect connects to an address that a session wants and for which there is no SubConn.
func (p *policy) connect(address string) {
	p.mu.Lock()
	e := p.entries[address]
	if e == nil || e.sub != nil || p.closed {
		p.reportLocked()
		p.mu.Unlock()
		return
	}
	to := e.address
	p.mu.Unlock()
	sc := &subConn{own: true, wanted: true}
	if err := p.makeInner(sc, []resolver.Address{to}, balancer.NewSubConnOptions{}); err != nil {
		return // the channel is closed, or idle
	}
	// Meanwhile the address or the policy may have gone, or the child may have made a SubConn.
	p.mu.Lock()
	e = p.entries[address]
	use := e != nil && e.sub == nil && !p.closed && sc.fits(e)
	if use {
		e.sub = sc
		p.sweepLocked()
	} else {
		p.reportLocked()
	}
	p.mu.Unlock()
	if use {
		sc.SubConn.Connect()
	} else {
		sc.SubConn.Shutdown()
	}
}
