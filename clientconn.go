// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/base"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/experimental/footprint"
	"google.golang.org/grpc/grpclog"
	"google.golang.org/grpc/internal/channelz"
	"google.golang.org/grpc/internal/resolver/scheme"
	"google.golang.org/grpc/internal/rpcconfig"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/status"
)

var (
	// ErrClientConnClosing is what RPCs fail with whose ClientConn is closed.
	//
	// Deprecated: this error should not be relied upon by users; use the status
	// code Canceled.
	ErrClientConnClosing = status.Error(codes.Canceled, "grpc: the client connection is closing")

	// ErrClientConnTimeout was once the error of a Dial that took too long.
	//
	// Deprecated: nothing returns it.
	ErrClientConnTimeout = errors.New("grpc: timed out when dialing")
)

var channelLog = grpclog.Component("core")

// ClientConnInterface is what generated clients need. [ClientConn] is one.
type ClientConnInterface interface {
	// Invoke performs a unary RPC and returns when it is over.
	Invoke(ctx context.Context, method string, args any, reply any, opts ...CallOption) error
	// NewStream begins a streaming RPC.
	NewStream(ctx context.Context, desc *StreamDesc, method string, opts ...CallOption) (ClientStream, error)
}

// ClientConn is a channel: a target, and the connections to the servers behind it that
// its balancer wants. It is made by [NewClient] and has to be closed. It is safe for
// concurrent use.
//
// A channel begins idle. The first RPC, or Connect, has its target resolved and
// connections made.
//
// Locks: idle.mu before mu before an addrConn's mu. None is held while a resolver's or
// balancer's method runs, but for idle.mu during Build. The balancer may call the
// channel with locks of its own held, so none of its methods calls back.
type ClientConn struct {
	// Immutable.
	target    string
	full      string // what parsed parses: target, or that with the default scheme
	authority string
	named     bool // the authority is the program's: no address knows it better
	opts      *channelOptions
	builder   resolver.Builder
	unwatch   func() // ends what recorders were promised; nil without
	node      *channelz.Node

	// transport is what new connections are made with. A server that complains of
	// pings gets it replaced.
	transport atomic.Pointer[transport.ClientConfig]
	config    atomic.Pointer[channelConfig] // nil before the resolver's first answer

	state   stateWatch
	picks   pickerGate
	idle    idleness
	streams streamList

	mu       sync.Mutex
	closed   bool
	resolver *resolverWrapper // nil in idle mode
	balancer *balancerWrapper // nil in idle mode
	subConns []*addrConn
	links    []*link       // every connection that is open, those draining included
	connErr  error         // why the last attempt to connect failed
	resolved bool          // the resolver has answered, or Close was called
	answer   chan struct{} // closed when resolved is set; nil while nobody waits for it
}

// NewClient makes a channel for a target, such as "dns:///host:443", "unix:path" or
// "host:443", which means the first (naming.md). It does not connect: the first RPC
// does, or Connect.
//
// An error says that the target or the options are of no use.
func NewClient(target string, opts ...DialOption) (conn *ClientConn, err error) {
	o := newDialOptions(opts)
	return newChannel(target, scheme.DNS, &o)
}

func newChannel(target, defaultScheme string, o *dialOptions) (*ClientConn, error) {
	if err := o.checkCredentials(); err != nil {
		return nil, err
	}
	cc := &ClientConn{target: target}
	if err := cc.settleTarget(scheme.Or(defaultScheme), o); err != nil {
		return nil, err
	}
	if err := o.settleServiceConfig(); err != nil {
		return nil, err
	}
	o.settleTransport()
	o.settleTelemetry(cc)
	o.settleInterceptors()
	cc.opts = shareOptions(&o.channelOptions)
	cc.transport.Store(&cc.opts.transport)
	cc.unwatch = footprint.Register(cc.opts.transport.StatsHandlers, cc.opts.telemetry.Recorders()...)
	parent, _ := o.channelz.(*channelz.Node)
	cc.node = channelz.NewNode(parent, channelz.Channel, target)
	cc.state.node = cc.node
	cc.idle.timeout, cc.idle.owner = cc.opts.idleTimeout, cc
	cc.idle.start()
	return cc, nil
}

// settleTarget finds the resolver and the authority, and whether a proxy is in between.
func (cc *ClientConn) settleTarget(defaultScheme string, o *dialOptions) error {
	var (
		parsed resolver.Target
		err    error
	)
	cc.full, parsed, cc.builder, err = findResolver(cc.target, defaultScheme, o.resolvers)
	if err != nil {
		return err
	}
	if cc.authority, err = authorityOf(o, parsed, cc.builder); err != nil {
		return err
	}
	cc.named = o.authority != ""
	return cc.settleProxy(parsed, o)
}

// parsed parses the target anew: it is needed seldom, and big.
func (cc *ClientConn) parsed() resolver.Target {
	t, _ := parseTarget(cc.full) // it was parsed before
	return t
}

// Target returns the target as it was given.
func (cc *ClientConn) Target() string { return cc.target }

// CanonicalTarget returns the target in full, "scheme://authority/endpoint".
func (cc *ClientConn) CanonicalTarget() string { return cc.parsed().String() }

// Connect makes an idle channel connect, without waiting for it. Others take no notice.
//
// Experimental: this API may change in a later release.
func (cc *ClientConn) Connect() {
	_ = cc.idle.wake() // the state tells
	cc.mu.Lock()
	b := cc.balancer
	cc.mu.Unlock()
	if b != nil {
		b.exitIdle()
	}
}

// ResetConnectBackoff makes every subchannel that waits after a failure try again at
// once, and the pauses begin anew. It is for when the network is known to be back.
//
// Experimental: this API may change in a later release.
func (cc *ClientConn) ResetConnectBackoff() {
	cc.mu.Lock()
	list := slices.Clone(cc.subConns)
	cc.mu.Unlock()
	for _, ac := range list {
		ac.resetBackoff()
	}
}

// Close ends the channel at once: RPCs that are open fail with codes.Canceled, as do
// those to come. It fails if the channel is closed already.
func (cc *ClientConn) Close() error {
	cc.idle.close()
	cc.mu.Lock()
	if cc.closed {
		cc.mu.Unlock()
		return ErrClientConnClosing
	}
	cc.closed = true
	cc.answeredLocked()
	parts := cc.detach()
	links := cc.links
	cc.links = nil
	cc.mu.Unlock()

	cc.state.set(connectivity.Shutdown)
	cc.picks.close()
	parts.close()
	for _, l := range links {
		l.client.Close(ErrClientConnClosing)
	}
	cc.streams.cancelAll()
	if cc.unwatch != nil {
		cc.unwatch()
	}
	cc.node.Close()
	return nil
}

// activeParts are those that a channel has while it is neither idle nor closed.
type activeParts struct {
	resolver *resolverWrapper
	balancer *balancerWrapper
	subConns []*addrConn
	selector *selectorTurn
}

// detach takes them away from the channel. mu is held.
func (cc *ClientConn) detach() activeParts {
	p := activeParts{cc.resolver, cc.balancer, cc.subConns, cc.dropSelectorLocked()}
	cc.resolver, cc.balancer, cc.subConns = nil, nil, nil
	return p
}

func (p activeParts) close() {
	p.selector.end()
	if p.resolver != nil {
		p.resolver.close()
		p.balancer.close()
	}
	for _, ac := range p.subConns {
		ac.tearDown()
	}
}

// enterIdle gives up connections and resolver until somebody wants them. There are no
// RPCs.
func (cc *ClientConn) enterIdle() {
	cc.mu.Lock()
	if cc.closed {
		cc.mu.Unlock()
		return
	}
	parts := cc.detach()
	cc.mu.Unlock()
	parts.close() // from here on the balancer can't change picker or state
	cc.picks.set(nil)
	cc.state.set(connectivity.Idle)
	cc.node.Trace(channelz.Info, "Channel entering idle mode", nil)
}

// leaveIdle has the target resolved. A resolver that can't be built counts as one that
// failed.
func (cc *ClientConn) leaveIdle() error {
	cc.mu.Lock()
	if cc.closed || cc.resolver != nil {
		cc.mu.Unlock()
		return nil
	}
	b := newBalancerWrapper(cc)
	r := &resolverWrapper{cc: cc}
	cc.balancer, cc.resolver = b, r
	cc.mu.Unlock()
	cc.state.set(connectivity.Connecting)
	cc.node.Trace(channelz.Info, "Channel exiting idle mode", nil)
	if err := r.start(); err != nil {
		channelLog.Warningf("%s: failed to start resolver: %v", cc.target, err)
		cc.resolverFailed(r, err)
		return fmt.Errorf("failed to exit idle mode: failed to start resolver: %w", err)
	}
	return nil
}

// current returns the balancer if r is still the channel's resolver.
func (cc *ClientConn) current(r *resolverWrapper) *balancerWrapper {
	cc.mu.Lock()
	defer cc.mu.Unlock()
	if cc.closed || cc.resolver != r {
		return nil
	}
	return cc.balancer
}

// resolverFailed passes the resolver's error on: what worked goes on working.
func (cc *ClientConn) resolverFailed(r *resolverWrapper, err error) {
	b := cc.current(r)
	if b == nil {
		return
	}
	cc.ensureConfig(r)
	b.resolverError(err)
}

// resolverUpdate gives the balancer what the resolver found, with the service config
// that goes with it (gRFC A21).
func (cc *ClientConn) resolverUpdate(r *resolverWrapper, s resolver.State) error {
	b := cc.current(r)
	if b == nil {
		return nil
	}
	sc, err := cc.opts.fallback, error(nil)
	if !cc.opts.noServiceConfig {
		var brought *ServiceConfig
		if brought, err = usableConfig(s.ServiceConfig); brought != nil {
			sc = brought
		}
	}
	if err == nil {
		return cc.apply(r, s, sc)
	}
	if c := cc.config.Load(); c != nil {
		// A21: an invalid config does not replace one that is in use.
		channelLog.Warningf("%s: the resolver brought an invalid service config: %v", cc.target, err)
		_ = b.update(s, c.ServiceConfig)
		return balancer.ErrBadResolverState
	}
	b.UpdateState(failing(status.Error(codes.Unavailable, err.Error())))
	cc.answered()
	return balancer.ErrBadResolverState
}

// emptyConfig is that of channels without a service config, and what RPCs go by that
// were begun before the first valid one.
var emptyConfig = newChannelConfig(noServiceConfig)

// apply gives the balancer a state, and has RPCs go by sc and the state's Selector. "The
// channel must update the LB Policy before applying the Config Selector" (gRFC A31).
func (cc *ClientConn) apply(r *resolverWrapper, s resolver.State, sc *ServiceConfig) error {
	b := cc.current(r)
	if b == nil {
		return nil
	}
	var selector rpcconfig.Selector
	if !cc.opts.noServiceConfig {
		selector = rpcconfig.SelectorOf(s)
	}
	c := cc.config.Load()
	if selector == nil && (c == nil || c.selector == nil) {
		cc.useConfig(r, sc, nil) // the first RPCs need not wait for the balancer
		return b.update(s, sc)
	}
	err := b.update(s, sc)
	cc.useConfig(r, sc, selector)
	return err
}

// useConfig makes a service config and a Selector the channel's, if r is still its
// resolver. Nobody asks the Selector that was before it when it returns.
func (cc *ClientConn) useConfig(r *resolverWrapper, sc *ServiceConfig, s rpcconfig.Selector) {
	cc.mu.Lock()
	if cc.closed || cc.resolver != r {
		cc.mu.Unlock()
		return
	}
	old := cc.config.Load()
	c := old.with(sc, s)
	cc.config.Store(c)
	cc.answeredLocked()
	cc.mu.Unlock()
	if old != nil && old != c {
		old.selector.end()
	}
}

// dropSelectorLocked gives up the Selector of a resolver that goes. RPCs wait for the next
// one to answer.
func (cc *ClientConn) dropSelectorLocked() *selectorTurn {
	c := cc.config.Load()
	if c == nil || c.selector == nil {
		return nil
	}
	cc.config.Store(nil)
	cc.resolved = cc.closed
	return c.selector
}

// answered lets RPCs go on that wait for the resolver's first answer.
func (cc *ClientConn) answered() {
	cc.mu.Lock()
	defer cc.mu.Unlock()
	cc.answeredLocked()
}

func (cc *ClientConn) answeredLocked() {
	cc.resolved = true
	if cc.answer != nil {
		close(cc.answer)
		cc.answer = nil
	}
}

// firstAnswer returns a channel that is closed with the resolver's first answer, nil if it
// is there.
func (cc *ClientConn) firstAnswer() <-chan struct{} {
	cc.mu.Lock()
	defer cc.mu.Unlock()
	if !cc.resolved && cc.answer == nil {
		cc.answer = make(chan struct{})
	}
	return cc.answer
}

// ensureConfig makes the fallback the service config where there is none.
func (cc *ClientConn) ensureConfig(r *resolverWrapper) {
	if cc.config.Load() == nil {
		cc.useConfig(r, cc.opts.fallback, nil)
	}
}

// awaitConfig returns the service config, which RPCs can't begin without, and whether
// that took a wait for the resolver.
func (cc *ClientConn) awaitConfig(ctx context.Context) (c *channelConfig, waited bool, err error) {
	if c := cc.config.Load(); c != nil {
		return c, false, nil
	}
	if answer := cc.firstAnswer(); answer != nil {
		waited = true
		select {
		case <-answer:
		case <-ctx.Done():
			return nil, true, status.FromContextError(ctx.Err()).Err()
		}
	}
	if c := cc.config.Load(); c != nil {
		return c, waited, nil
	}
	// An invalid one came, or Close: no RPC will get past the picker.
	return emptyConfig, waited, nil
}

func (cc *ClientConn) resolveNow() {
	cc.mu.Lock()
	r := cc.resolver
	cc.mu.Unlock()
	if r != nil {
		r.resolveNow()
	}
}

// addSubConn notes a new subchannel, unless the balancer is not the channel's any more.
func (cc *ClientConn) addSubConn(b *balancerWrapper, ac *addrConn) bool {
	cc.mu.Lock()
	defer cc.mu.Unlock()
	if cc.closed || cc.balancer != b {
		return false
	}
	cc.subConns = append(cc.subConns, ac)
	return true
}

func (cc *ClientConn) removeSubConn(ac *addrConn) {
	cc.mu.Lock()
	defer cc.mu.Unlock()
	if i := slices.Index(cc.subConns, ac); i >= 0 {
		cc.subConns = slices.Delete(cc.subConns, i, i+1)
	}
}

// addLink notes an open connection, so that Close finds it. It returns false if the
// channel is closed.
func (cc *ClientConn) addLink(l *link) bool {
	cc.mu.Lock()
	defer cc.mu.Unlock()
	if cc.closed {
		return false
	}
	cc.links = append(cc.links, l)
	return true
}

func (cc *ClientConn) removeLink(l *link) {
	cc.mu.Lock()
	defer cc.mu.Unlock()
	if i := slices.Index(cc.links, l); i >= 0 {
		last := len(cc.links) - 1
		cc.links[i], cc.links[last] = cc.links[last], nil
		cc.links = cc.links[:last]
	}
}

func (cc *ClientConn) setConnErr(err error) {
	cc.mu.Lock()
	defer cc.mu.Unlock()
	cc.connErr = err
}

// failing is the state of a channel all of whose RPCs fail.
func failing(err error) balancerState {
	return balancerState{ConnectivityState: connectivity.TransientFailure, Picker: base.NewErrPicker(err)}
}
