// SPDX-License-Identifier: Apache-2.0

package pickfirst

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/base"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/grpclog"
	"google.golang.org/grpc/resolver"
)

// attemptDelay is how long the balancer waits after the start of an attempt to connect before it
// starts the next one in parallel. RFC 8305, section 8, recommends the value.
const attemptDelay = 250 * time.Millisecond

var logger = grpclog.Component("pick_first")

// pickFirst is the balancer. In its first pass over the addresses it begins one attempt to connect
// after the other: each begins 250 ms after the one before, or as soon as that one fails. If all
// attempts have failed, the balancer is in TransientFailure. From then on each subchannel tries
// again as soon as its own back-off is over.
//
// When the connection is lost, the balancer is idle until the next RPC.
//
// The balancer holds mu while it calls the ClientConn's methods, which don't call back.
type pickFirst struct {
	// Immutable.
	cc balancer.ClientConn
	shuffler

	mu        sync.Mutex
	stage     stage
	health    bool
	firstPass bool
	// tried says that an attempt to connect has failed since the resolver was last asked to resolve
	// again. The balancer does not ask again before that: the resolver's answer begins a pass, and
	// a pass in which all subchannels are still in back-off would ask for the next answer at once.
	tried    bool
	state    int32              // a connectivity.State
	addrs    []resolver.Address // replaced as a whole, never changed
	subs     []*sub             // in the order in which they were made
	selected *sub               // the one that is ready; nil if none is

	// These are for passes.
	next     int32 // index into addrs of the address to try next
	failures int32 // failed attempts since the first pass was over
	lastErr  error
	delay    *time.Timer // begins the next attempt; nil while none is due
}

// stage is the stage of a policy's life.
type stage uint8

const (
	waiting stage = iota // it has not got an update with addresses
	started
	closed
)

// sub is the subchannel of one address.
type sub struct {
	balancer.SubConn
	of     *pickFirst
	addr   *resolver.Address // nobody changes it
	state  connectivity.State
	failed bool // in this pass
	err    error
}

var errNoAddresses = errors.New("name resolver error: produced zero addresses")

// UpdateClientConnState implements balancer.Balancer.
func (b *pickFirst) UpdateClientConnState(s balancer.ClientConnState) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stage == closed {
		return nil
	}
	endpoints := s.ResolverState.Endpoints
	if len(endpoints) == 0 {
		for _, a := range s.ResolverState.Addresses {
			endpoints = append(endpoints, resolver.Endpoint{Addresses: []resolver.Address{a}})
		}
	}
	if c, ok := s.BalancerConfig.(config); ok && c.ShuffleAddressList {
		endpoints = b.shuffle(slices.Clone(endpoints))
	}
	addrs := order(endpoints)
	if len(addrs) == 0 {
		b.addrs = nil
		b.dropAll()
		b.fail(errNoAddresses)
		return balancer.ErrBadResolverState
	}
	b.health = wantsHealth(s.ResolverState)
	b.useAddresses(addrs)
	return nil
}

// useAddresses replaces the addresses. The balancer keeps the connection in use if its address is
// in the new list.
func (b *pickFirst) useAddresses(addrs []resolver.Address) {
	hadNone := len(b.addrs) == 0
	b.addrs = addrs
	wasReady := b.selected != nil
	for _, s := range slices.Clone(b.subs) {
		if a := find(addrs, s.addr); a != nil {
			s.addr = a // so that the old list can be freed
		} else {
			b.drop(s)
		}
	}
	if b.selected != nil {
		return
	}
	switch {
	case b.stage == waiting, hadNone, wasReady, b.is(connectivity.Connecting):
		b.stage = started
		b.connecting()
		b.startPass()
	case b.is(connectivity.TransientFailure):
		// A62: the balancer stays in TransientFailure until it has a connection.
		b.startPass()
	}
}

// find returns a pointer to the address in the list that is the same as a, or nil if there is none.
func find(addrs []resolver.Address, a *resolver.Address) *resolver.Address {
	for i := range addrs {
		if sameAddress(*a, addrs[i]) {
			return &addrs[i]
		}
	}
	return nil
}

// sameAddress reports whether a and b are equal in all that makes a difference to a connection.
func sameAddress(a, b resolver.Address) bool {
	return a.Addr == b.Addr && a.ServerName == b.ServerName && a.Attributes.Equal(b.Attributes)
}

// ResolverError implements balancer.Balancer. It ignores the error while the balancer has addresses
// and is not in TransientFailure.
func (b *pickFirst) ResolverError(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stage == closed || len(b.addrs) > 0 && !b.is(connectivity.TransientFailure) {
		return
	}
	if len(b.addrs) > 0 && b.lastErr != nil {
		b.fail(errors.New("last connection error: " + b.lastErr.Error() + "; name resolver error: " + err.Error()))
	} else {
		b.fail(errors.New("name resolver error: " + err.Error()))
	}
}

// UpdateSubConnState is never called, as every SubConn has a listener.
func (b *pickFirst) UpdateSubConnState(_ balancer.SubConn, s balancer.SubConnState) {
	logger.Errorf("a state (%v) came by UpdateSubConnState; it is ignored", s)
}

// Close implements balancer.Balancer.
func (b *pickFirst) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stage = closed
	b.dropAll()
}

// OwnsSubConns implements subconns.Owner.
func (*pickFirst) OwnsSubConns() {}

// ExitIdle implements balancer.Balancer.
func (b *pickFirst) ExitIdle() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stage == closed || !b.is(connectivity.Idle) || len(b.addrs) == 0 || b.stage == waiting {
		return
	}
	b.connecting()
	b.startPass()
}

// startPass begins a first pass over the addresses.
func (b *pickFirst) startPass() {
	b.firstPass, b.next, b.failures = true, 0, 0
	for _, s := range b.subs {
		s.failed = false
	}
	b.tryNext()
}

// tryNext begins an attempt to connect to the next address. It skips subchannels in back-off, which
// count as failed in this pass.
func (b *pickFirst) tryNext() {
	b.stopDelay()
	for int(b.next) < len(b.addrs) {
		s := b.subFor(&b.addrs[b.next])
		b.next++
		if s == nil {
			continue
		}
		if s.state == connectivity.TransientFailure {
			s.failed = true
			b.lastErr = s.err
			continue
		}
		if s.state == connectivity.Idle {
			s.Connect()
		}
		if int(b.next) < len(b.addrs) {
			b.startDelay()
		}
		return
	}
	b.endPass()
}

// endPass ends the first pass if all attempts have failed.
func (b *pickFirst) endPass() {
	if !b.firstPass || int(b.next) < len(b.addrs) {
		return
	}
	for _, s := range b.subs {
		if !s.failed {
			return
		}
	}
	b.firstPass = false
	b.fail(b.lastErr)
	b.resolveAgain()
	for _, s := range b.subs {
		if s.state == connectivity.Idle {
			s.Connect()
		}
	}
}

func (b *pickFirst) startDelay() {
	var t *time.Timer
	t = time.AfterFunc(attemptDelay, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.delay == t && b.stage != closed {
			b.delay = nil
			b.tryNext()
		}
	})
	b.delay = t
}

func (b *pickFirst) stopDelay() {
	if b.delay != nil {
		b.delay.Stop()
		b.delay = nil
	}
}

// subFor returns the subchannel of an address. It makes one if there is none, and returns nil if
// that fails.
func (b *pickFirst) subFor(a *resolver.Address) *sub {
	for _, s := range b.subs {
		if sameAddress(*s.addr, *a) {
			return s
		}
	}
	s := &sub{of: b, addr: a, state: connectivity.Idle}
	//lint:ignore SA1019 there is no other way to make one
	made, err := b.cc.NewSubConn([]resolver.Address{*a}, balancer.NewSubConnOptions{StateListener: s.changed})
	if err != nil {
		logger.Warningf("no SubConn for %v: %v", *a, err)
		b.lastErr = err
		return nil
	}
	s.SubConn = made
	b.subs = append(b.subs, s)
	return s
}

func (b *pickFirst) drop(s *sub) {
	if i := slices.Index(b.subs, s); i >= 0 {
		b.subs = slices.Delete(b.subs, i, i+1)
	}
	if b.selected == s {
		b.selected = nil
	}
	s.Shutdown()
}

func (b *pickFirst) dropAll() {
	b.stopDelay()
	for _, s := range slices.Clone(b.subs) {
		b.drop(s)
	}
}

func (s *sub) changed(now balancer.SubConnState) { s.of.subChanged(s, now) }

// subChanged handles a new state of a subchannel.
func (b *pickFirst) subChanged(s *sub, now balancer.SubConnState) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stage == closed || !slices.Contains(b.subs, s) {
		return
	}
	was := s.state
	s.state = now.ConnectivityState
	switch {
	case s.state == connectivity.Ready:
		b.selectSub(s)
		return
	case s == b.selected:
		b.lose(now.ConnectionError)
		return
	case s.state == connectivity.TransientFailure:
		s.err, b.lastErr = now.ConnectionError, now.ConnectionError
		b.subFailed(s)
	case s.state == connectivity.Idle && was == connectivity.Connecting:
		// The connection was made and lost at once. The balancer gives up the pass and becomes
		// idle.
		b.dropAll()
		b.goIdle()
	case s.state == connectivity.Idle && !b.firstPass:
		s.Connect()
	}
}

// resolveAgain asks the resolver for new addresses after attempts to connect have failed.
func (b *pickFirst) resolveAgain() {
	if b.tried {
		b.tried = false
		b.cc.ResolveNow(resolver.ResolveNowOptions{})
	}
}

// subFailed continues after an attempt to connect has failed.
func (b *pickFirst) subFailed(s *sub) {
	b.tried = true
	if b.firstPass {
		s.failed = true
		// If the attempt that began last has failed, the next one begins at once.
		if b.next > 0 && sameAddress(b.addrs[b.next-1], *s.addr) {
			b.tryNext()
		} else {
			b.endPass()
		}
		return
	}
	b.failures++
	if int(b.failures)%len(b.addrs) == 0 {
		b.fail(b.lastErr)
		b.resolveAgain()
	}
}

// selectSub makes s, which is ready, the subchannel in use, and shuts down the others.
func (b *pickFirst) selectSub(s *sub) {
	b.stopDelay()
	b.selected, b.firstPass = s, false
	for _, o := range slices.Clone(b.subs) {
		if o != s {
			b.drop(o)
		}
	}
	if !b.health {
		b.report(connectivity.Ready, &picker{s.SubConn})
		return
	}
	b.connecting()
	s.RegisterHealthListener(func(h balancer.SubConnState) { b.healthChanged(s, h) })
}

// healthChanged handles a new health of the server in use.
func (b *pickFirst) healthChanged(s *sub, h balancer.SubConnState) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stage == closed || b.selected != s {
		return
	}
	switch h.ConnectivityState {
	case connectivity.Ready:
		b.report(connectivity.Ready, &picker{s.SubConn})
	case connectivity.TransientFailure:
		b.fail(fmt.Errorf("pickfirst: health check failure: %s", fmt.Sprint(h.ConnectionError)))
	default:
		b.connecting()
	}
}

// lose handles the loss of the connection in use. A subchannel that may have several connections
// (gRFC A105) can be connecting at that moment, or in back-off: "pick_first will go back into
// CONNECTING state. It will start the happy eyeballs pass across all subchannels".
func (b *pickFirst) lose(err error) {
	s := b.selected
	b.selected = nil
	switch s.state {
	case connectivity.Connecting, connectivity.TransientFailure:
		s.err = err
		b.connecting()
		b.startPass()
		return
	case connectivity.Idle:
	default:
		b.drop(s)
	}
	b.goIdle()
}

func (b *pickFirst) goIdle() {
	b.stopDelay()
	b.firstPass, b.lastErr = false, nil
	b.report(connectivity.Idle, &idlePicker{exit: b.ExitIdle})
}

// fail reports TransientFailure, so that RPCs fail with err. If a dialer or credentials put a
// status into err, the RPCs have its code.
func (b *pickFirst) fail(err error) {
	if err == nil {
		err = errors.New("no connection could be made")
	}
	b.report(connectivity.TransientFailure, base.NewErrPicker(err))
}

// connecting reports Connecting, unless that is the state already.
func (b *pickFirst) connecting() {
	if !b.is(connectivity.Connecting) {
		b.report(connectivity.Connecting, base.NewErrPicker(balancer.ErrNoSubConnAvailable))
	}
}

func (b *pickFirst) is(s connectivity.State) bool { return b.state == int32(s) }

func (b *pickFirst) report(s connectivity.State, p balancer.Picker) {
	b.state = int32(s)
	b.cc.UpdateState(balancer.State{ConnectivityState: s, Picker: p})
}

// picker picks the same SubConn for every RPC.
type picker struct{ sc balancer.SubConn }

// Pick implements balancer.Picker.
func (p *picker) Pick(balancer.PickInfo) (balancer.PickResult, error) {
	return balancer.PickResult{SubConn: p.sc}, nil
}

// idlePicker makes the balancer leave idle mode when the first RPC picks.
type idlePicker struct {
	once sync.Once
	exit func()
}

// Pick implements balancer.Picker.
func (p *idlePicker) Pick(balancer.PickInfo) (balancer.PickResult, error) {
	p.once.Do(func() { go p.exit() })
	return balancer.PickResult{}, balancer.ErrNoSubConnAvailable
}
