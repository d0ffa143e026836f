// SPDX-License-Identifier: Apache-2.0

package outlierdetection

import (
	"errors"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal/balancer/done"
	"google.golang.org/grpc/resolver"
)

var errEjected = errors.New("the endpoint is left out: it fails more RPCs than it may (outlier detection)")

// NewSubConn implements balancer.ClientConn.
func (p *policy) NewSubConn(addrs []resolver.Address, opts balancer.NewSubConnOptions) (balancer.SubConn, error) {
	sc := &subConn{policy: p}
	if len(addrs) == 1 {
		sc.address = addrs[0].Addr
	}
	listener := opts.StateListener
	opts.StateListener = func(s balancer.SubConnState) {
		sc.changed(s.ConnectivityState)
		listener(s)
	}
	//lint:ignore SA1019 a policy may still give several addresses
	inner, err := p.ClientConn.NewSubConn(addrs, opts)
	if err != nil {
		return nil, err
	}
	sc.SubConn = inner
	p.mu.Lock()
	defer p.mu.Unlock()
	p.subConns.Set(sc, struct{}{})
	sc.endpoint.Store(p.byAddress[sc.address])
	return sc, nil
}

// RemoveSubConn implements balancer.ClientConn.
func (p *policy) RemoveSubConn(sc balancer.SubConn) { sc.Shutdown() }

// UpdateAddresses implements balancer.ClientConn.
func (p *policy) UpdateAddresses(sc balancer.SubConn, addrs []resolver.Address) {
	//lint:ignore SA1019 a policy may still use it
	sc.UpdateAddresses(addrs)
}

// UpdateAddresses implements balancer.SubConn.
func (sc *subConn) UpdateAddresses(addrs []resolver.Address) {
	//lint:ignore SA1019 a policy may still use it
	sc.SubConn.UpdateAddresses(addrs)
	p := sc.policy
	p.mu.Lock()
	sc.address = ""
	if len(addrs) == 1 {
		sc.address = addrs[0].Addr
	}
	sc.endpoint.Store(p.byAddress[sc.address])
	p.mu.Unlock()
	sc.health.Go(sc.tell) // the child may hold what its listener takes
}

// Shutdown implements balancer.SubConn.
func (sc *subConn) Shutdown() {
	sc.forget()
	sc.SubConn.Shutdown()
}

func (sc *subConn) forget() {
	p := sc.policy
	p.mu.Lock()
	defer p.mu.Unlock()
	p.subConns.Delete(sc)
}

// changed handles a new state of the SubConn. When the SubConn leaves Ready it has no health, and
// its health listener is removed.
func (sc *subConn) changed(s connectivity.State) {
	if s == connectivity.Ready {
		return
	}
	if s == connectivity.Shutdown {
		sc.forget()
	}
	sc.mu.Lock()
	defer sc.mu.Unlock()
	sc.listener, sc.heard = nil, false
}

// RegisterHealthListener implements balancer.SubConn.
func (sc *subConn) RegisterHealthListener(listener func(balancer.SubConnState)) {
	sc.mu.Lock()
	sc.listener, sc.heard = listener, false
	sc.mu.Unlock()
	if listener == nil {
		sc.SubConn.RegisterHealthListener(nil)
		return
	}
	sc.SubConn.RegisterHealthListener(func(s balancer.SubConnState) {
		sc.mu.Lock()
		sc.last, sc.heard = s, sc.listener != nil
		sc.mu.Unlock()
		sc.review()
	})
}

// review calls the health listener with the health that the child should see now.
func (sc *subConn) review() { sc.health.Do(sc.tell) }

func (sc *subConn) tell() {
	sc.mu.Lock()
	listener, s, heard := sc.listener, sc.last, sc.heard
	sc.mu.Unlock()
	if listener == nil || !heard {
		return
	}
	if e := sc.endpoint.Load(); e != nil && e.ejected.Load() {
		s = balancer.SubConnState{ConnectivityState: connectivity.TransientFailure, ConnectionError: errEjected}
	}
	listener(s)
}

// Pick implements balancer.Picker.
func (p *picker) Pick(info balancer.PickInfo) (balancer.PickResult, error) {
	r, err := p.child.Pick(info)
	if err != nil {
		return r, err
	}
	sc, ok := r.SubConn.(*subConn)
	if !ok {
		return r, nil
	}
	r.SubConn = sc.SubConn
	if p.counts {
		if e := sc.endpoint.Load(); e != nil {
			r.Done = done.Join(e.done, r.Done)
		}
	}
	return r, nil
}
