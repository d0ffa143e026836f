// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal"
	"google.golang.org/grpc/internal/channelz"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/resolver"
)

// addrConn is a subchannel: at most one connection, to one of its addresses. It has a
// goroutine only while it connects.
//
// Its states (connectivity-semantics-and-api.md): Idle until Connect; Connecting; Ready,
// until the connection is lost or takes leave, and then Idle; TransientFailure, for as
// long as the back-off takes, and then Idle; Shutdown.
type addrConn struct {
	internal.SubConnSeal

	// Immutable.
	cc       *ClientConn
	owner    *balancerWrapper
	listener func(balancer.SubConnState) // nil: the policy itself is told
	node     *channelz.Node

	// ready is the connection that RPCs use; nil unless the state is Ready.
	ready atomic.Pointer[link]

	creds       *subConnCreds // immutable; nil: the channel's
	wantsHealth bool          // immutable: the state is to follow the server's health
	silent      bool          // Shutdown was reported; belongs to owner.calls
	producers   producerSet

	mu      sync.Mutex
	addrs   []resolver.Address // replaced as a whole, never changed
	state   connectivity.State
	current *link              // the connection
	cancel  context.CancelFunc // of the attempt to connect; nil while there is none
	retries int                // failures since the last success
	failure error              // the last one
	pause   *time.Timer        // ends TransientFailure
	health  healthState
}

func newAddrConn(b *balancerWrapper, addrs []resolver.Address, opts balancer.NewSubConnOptions) *addrConn {
	ac := &addrConn{cc: b.cc, owner: b, listener: opts.StateListener, wantsHealth: opts.HealthCheckEnabled, addrs: addrs}
	//lint:ignore SA1019 balancers may still set it
	if bundle := opts.CredsBundle; bundle != nil {
		ac.creds = &subConnCreds{bundle.TransportCredentials(), bundle.PerRPCCredentials()}
	}
	if channelz.IsOn() {
		ac.node = channelz.NewNode(b.cc.node, channelz.Subchannel, addressList(addrs))
	}
	return ac
}

func addressList(addrs []resolver.Address) string {
	names := make([]string, len(addrs))
	for i, a := range addrs {
		names[i] = a.Addr
	}
	return strings.Join(names, ",")
}

// Connect implements balancer.SubConn.
func (ac *addrConn) Connect() {
	ac.mu.Lock()
	defer ac.mu.Unlock()
	if ac.state == connectivity.Idle {
		ac.beginLocked()
	}
}

// beginLocked starts an attempt to connect.
func (ac *addrConn) beginLocked() {
	ctx, cancel := context.WithCancel(context.Background())
	ac.cancel = cancel
	ac.setStateLocked(connectivity.Connecting, nil)
	go ac.connect(ctx, ac.addrs, ac.retries)
}

// setStateLocked changes the state and reports it. mu is held, so that reports keep the
// order of what they tell.
func (ac *addrConn) setStateLocked(s connectivity.State, err error) {
	if ac.state == s {
		return
	}
	if ac.state == connectivity.Ready {
		ac.owner.calls.Go(ac.producers.close) // before anybody hears of it
	}
	ac.state = s
	if s == connectivity.Ready {
		ac.ready.Store(ac.current)
	} else {
		ac.ready.Store(nil)
	}
	ac.node.SetState(s)
	ac.owner.tell(ac, balancer.SubConnState{ConnectivityState: s, ConnectionError: err})
}

// connect tries the addresses in turn. connection-backoff.md: the attempt may take as
// long as the pause that would follow, and the minimum at least.
func (ac *addrConn) connect(ctx context.Context, addrs []resolver.Address, retries int) {
	pause := ac.cc.opts.backoff.Backoff(retries)
	begun := time.Now()
	dctx, stop := context.WithDeadline(ctx, begun.Add(max(pause, ac.cc.opts.minConnectTimeout)))
	defer stop()
	l, err := ac.tryAll(dctx, addrs)
	if err != nil && ctx.Err() == nil {
		ac.cc.setConnErr(err) // a Dial that waits asks for it when it sees the state
	}
	ac.mu.Lock()
	superseded := ctx.Err() != nil
	if !superseded {
		ac.cancel()
		ac.cancel = nil
	}
	switch {
	case superseded:
	case err != nil:
		ac.cc.failedToConnect(addrs)
		ac.failLocked(err, pause-time.Since(begun))
	case l.isUnfit(): // it was lost before it could be used
		l.opened()
		l.gone(ac.cc)
		ac.setStateLocked(connectivity.Idle, nil)
	default:
		l.opened()
		ac.retries = 0
		ac.useLocked(l)
	}
	ac.mu.Unlock()
	switch {
	case err != nil && !superseded:
		ac.cc.resolveNow()
	case err == nil && superseded:
		l.client.Close(errSuperseded)
	}
}

var errSuperseded = errors.New("grpc: the subchannel was shut down, or its addresses changed")

var errNoAddress = errors.New("grpc: the subchannel has no address")

func (ac *addrConn) tryAll(ctx context.Context, addrs []resolver.Address) (*link, error) {
	if len(addrs) == 0 {
		return nil, errNoAddress
	}
	var first error
	for i := range addrs {
		addr := &addrs[i]
		ac.node.Trace(channelz.Info, fmt.Sprintf("Subchannel picks a new address %q to connect", addr.Addr), nil)
		l, err := ac.dial(ctx, addr)
		if err == nil {
			return l, nil
		}
		if ctx.Err() == nil || first == nil {
			channelLog.Infof("%s: connecting to %s: %v", ac.cc.target, addr.Addr, err)
			ac.node.Trace(channelz.Warning, "connecting to "+addr.Addr+" failed: "+err.Error(), nil)
		}
		if first == nil {
			first = err
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, first
}

func (ac *addrConn) dial(ctx context.Context, addr *resolver.Address) (*link, error) {
	l := &link{ac: ac, addr: addr}
	to := *addr
	if ac.cc.named {
		to.ServerName = ""
	}
	p := transport.ConnectParams{
		Config: ac.cc.transport.Load(),
		Events: l,
		Watch:  ac.node != nil,
		Secret: ac.needsSecrecy(),
	}
	if ac.creds != nil {
		p.Creds = ac.creds.transport
	}
	client, err := transport.Connect(ctx, to, ac.cc.authority, p)
	if err != nil {
		return nil, err
	}
	l.connected(client)
	return l, nil
}

// failLocked begins the pause after a failure.
func (ac *addrConn) failLocked(err error, pause time.Duration) {
	ac.retries++
	ac.failure = err
	ac.setStateLocked(connectivity.TransientFailure, err)
	if ac.pause == nil {
		ac.pause = time.AfterFunc(max(pause, 0), ac.pauseOver)
	} else {
		ac.pause.Reset(max(pause, 0))
	}
}

// pauseOver leaves TransientFailure. Whether to connect again is for the balancer to
// say.
func (ac *addrConn) pauseOver() {
	ac.mu.Lock()
	defer ac.mu.Unlock()
	if ac.state == connectivity.TransientFailure && ac.current == nil {
		ac.setStateLocked(connectivity.Idle, ac.failure)
	}
}

func (ac *addrConn) resetBackoff() {
	ac.mu.Lock()
	ac.retries = 0
	waiting := ac.pause != nil && ac.pause.Stop()
	ac.mu.Unlock()
	if waiting {
		ac.pauseOver()
	}
}

// useLocked makes l the subchannel's connection.
func (ac *addrConn) useLocked(l *link) {
	ac.current = l
	if !ac.startHealthCheckLocked(l) {
		ac.setStateLocked(connectivity.Ready, nil)
	}
}

// lost is told that l can't be used any more. The channel knows it before the first RPC
// fails for it.
func (ac *addrConn) lost(l *link) {
	ac.mu.Lock()
	was := ac.current == l
	if was {
		l.gone(ac.cc)
		ac.dropLocked()
		if ac.state != connectivity.Shutdown {
			ac.setStateLocked(connectivity.Idle, nil)
		}
	}
	ac.mu.Unlock()
	if was {
		ac.cc.resolveNow()
	}
}

// dropLocked takes the connection away, and what lives on it.
func (ac *addrConn) dropLocked() {
	ac.current = nil
	ac.ready.Store(nil)
	ac.stopHealthCheckLocked()
}

// Shutdown implements balancer.SubConn.
func (ac *addrConn) Shutdown() {
	ac.cc.removeSubConn(ac)
	ac.tearDown()
}

// tearDown is Shutdown for who took the subchannel off the channel's list. RPCs on its
// connection go on.
func (ac *addrConn) tearDown() {
	ac.mu.Lock()
	if ac.state == connectivity.Shutdown {
		ac.mu.Unlock()
		return
	}
	l := ac.current
	if l != nil {
		l.leave(shutDown)
		l.gone(ac.cc)
	}
	ac.dropLocked()
	ac.abandonLocked()
	ac.setStateLocked(connectivity.Shutdown, nil)
	ac.mu.Unlock()
	if l != nil {
		l.client.GracefulClose()
	}
	ac.producers.close()
	ac.node.Close()
}

// abandonLocked ends an attempt to connect, and a pause.
func (ac *addrConn) abandonLocked() {
	if ac.cancel != nil {
		ac.cancel()
		ac.cancel = nil
	}
	if ac.pause != nil {
		ac.pause.Stop()
	}
}

// UpdateAddresses implements balancer.SubConn. The connection stays if it is to the first
// address.
func (ac *addrConn) UpdateAddresses(addrs []resolver.Address) {
	ac.mu.Lock()
	if ac.state == connectivity.Shutdown || slices.EqualFunc(ac.addrs, addrs, resolver.Address.Equal) {
		ac.mu.Unlock()
		return
	}
	ac.addrs = slices.Clone(addrs)
	l := ac.current
	if l != nil && len(addrs) > 0 && sameServer(addrs[0], *l.addr) {
		ac.mu.Unlock()
		return
	}
	again := l != nil || ac.state == connectivity.Connecting || ac.state == connectivity.TransientFailure
	if l != nil {
		l.leave(shutDown)
		l.gone(ac.cc)
		ac.dropLocked()
	}
	ac.abandonLocked()
	if again {
		ac.retries = 0
		if ac.state == connectivity.Ready {
			ac.owner.calls.Go(ac.producers.close)
		}
		ac.state = connectivity.Idle // passed through; nobody is told
		ac.beginLocked()
	}
	ac.mu.Unlock()
	if l != nil {
		l.client.GracefulClose()
	}
}

// sameServer compares what makes a difference to a connection.
func sameServer(a, b resolver.Address) bool {
	return a.Addr == b.Addr && a.ServerName == b.ServerName && a.Attributes.Equal(b.Attributes)
}

// String names the subchannel in logs.
func (ac *addrConn) String() string {
	ac.mu.Lock()
	defer ac.mu.Unlock()
	return "SubConn(" + addressList(ac.addrs) + ")"
}
