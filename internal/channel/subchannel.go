// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal/channelz"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/resolver"
)

func newSubchannel(b *balancerWrapper, addrs []resolver.Address, opts balancer.NewSubConnOptions) *Subchannel {
	sub := &Subchannel{ch: b.ch, owner: b, listener: opts.StateListener, wantsHealth: opts.HealthCheckEnabled, addrs: addrs}
	//lint:ignore SA1019 balancers may still set it
	if bundle := opts.CredsBundle; bundle != nil {
		sub.creds = &subConnCreds{bundle}
	}
	if channelz.IsOn() {
		sub.node = channelz.NewNode(b.ch.node, channelz.Subchannel, addressList(addrs))
	}
	return sub
}

func addressList(addrs []resolver.Address) string {
	names := make([]string, len(addrs))
	for i, a := range addrs {
		names[i] = a.Addr
	}
	return strings.Join(names, ",")
}

// beginLocked starts an attempt to connect.
func (sub *Subchannel) beginLocked() {
	sub.setStateLocked(connectivity.Connecting, nil)
	sub.dialLocked()
}

// dialLocked starts an attempt to connect without changing the state.
func (sub *Subchannel) dialLocked() {
	ctx, cancel := context.WithCancel(context.Background())
	sub.cancel = cancel
	go sub.connect(ctx, sub.addrs, sub.retries)
}

// connect tries the addresses in turn. All tries together may take as long as the pause that would
// follow a failure, but at least Options.MinConnectTimeout (connection-backoff.md).
func (sub *Subchannel) connect(ctx context.Context, addrs []resolver.Address, retries int) {
	pause := sub.ch.opts.Backoff.Backoff(retries)
	begun := time.Now()
	dctx, stop := context.WithDeadline(ctx, begun.Add(max(pause, sub.ch.opts.MinConnectTimeout)))
	defer stop()
	a := dialed{ctx, nil, errExited, retries, begun, pause}
	defer sub.settle(&a) // also if a dialer, credentials or a recorder end the goroutine
	a.l, a.err = sub.tryAll(dctx, addrs)
	if ctx.Err() != nil {
		return
	}
	if a.err != nil {
		sub.ch.setConnErr(a.err) // before the state changes: a blocking Dial reads it when it sees the state
	}
	sub.count(a.l, addrs)
}

// dialed is an attempt to connect that has ended.
type dialed struct {
	ctx     context.Context // cancelled if the attempt is superseded
	l       *Link
	err     error // why there is no l
	retries int   // failures before it
	begun   time.Time
	pause   time.Duration // from begun until the next attempt, if this one has failed
}

// settle has the subchannel go on from an attempt to connect.
func (sub *Subchannel) settle(a *dialed) {
	sub.mu.Lock()
	superseded := a.ctx.Err() != nil
	unused := superseded || a.err == nil && a.l.isUnfit() // the connection may be lost before it could be used
	if !superseded {
		sub.cancel()
		sub.cancel = nil
	}
	switch {
	case superseded:
	case a.err != nil:
		if sub.retries < a.retries { // reset during this attempt
			a.pause = sub.ch.opts.Backoff.Backoff(sub.retries)
		}
		sub.failLocked(a.err, a.pause-time.Since(a.begun))
	case unused:
		sub.madeUnfitLocked()
		sub.idleLocked()
	case sub.current == nil:
		sub.succeededLocked(a.l)
		sub.useLocked(a.l)
	default:
		sub.retries = 0
		sub.addLocked(a.l)
	}
	sub.mu.Unlock()
	switch {
	case a.err != nil && !superseded:
		sub.ch.resolveNow()
	case a.err == nil && superseded:
		defer a.l.client.Close(errSuperseded)
		a.l.leave(shutDown)
		a.l.gone()
	case a.err == nil && unused:
		a.l.gone()
	}
}

var errSuperseded = errors.New("grpc: the subchannel was shut down, or its addresses changed")

var errExited = errors.New("grpc: the dialer or the credentials called runtime.Goexit")

var errNoAddress = errors.New("grpc: the subchannel has no address")

func (sub *Subchannel) tryAll(ctx context.Context, addrs []resolver.Address) (*Link, error) {
	if len(addrs) == 0 {
		return nil, errNoAddress
	}
	var first error
	for i := range addrs {
		addr := &addrs[i]
		sub.node.Trace(channelz.Info, fmt.Sprintf("Subchannel picks a new address %q to connect", addr.Addr), nil)
		l, err := sub.dial(ctx, addr)
		if err == nil {
			return l, nil
		}
		if ctx.Err() == nil || first == nil {
			// What the published module logs: operators and their alerts look for these words.
			logger.Warningf("%s: grpc: addrConn.createTransport failed to connect to {Addr: %q, ServerName: %q, }. Err: %v",
				sub.ch.Name, addr.Addr, sub.serverName(addr), err)
			sub.node.Trace(channelz.Warning, "connecting to "+addr.Addr+" failed: "+err.Error(), nil)
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

// serverName returns the name by which the server at addr is addressed.
func (sub *Subchannel) serverName(addr *resolver.Address) string {
	if addr.ServerName != "" && !sub.ch.named {
		return addr.ServerName
	}
	return sub.ch.authority
}

func (sub *Subchannel) dial(ctx context.Context, addr *resolver.Address) (*Link, error) {
	l := &Link{sub: sub, addr: addr}
	to := *addr
	if sub.ch.named {
		to.ServerName = ""
	}
	p := transport.ConnectParams{
		Config: sub.ch.transport.Load(),
		Events: l,
		Watch:  sub.node != nil,
	}
	if b := sub.bundle(); b != nil {
		p.Creds = b.TransportCredentials()
		if c := b.PerRPCCredentials(); c != nil {
			l.bundled = &c
		}
	}
	p.Secret = l.needsSecrecy()
	client, err := transport.Connect(ctx, to, sub.ch.authority, p)
	if err != nil {
		return nil, err
	}
	l.connected(client)
	return l, nil
}

// failLocked begins the pause after a failure.
func (sub *Subchannel) failLocked(err error, pause time.Duration) {
	sub.retries++
	sub.failure = err
	if sub.current == nil {
		sub.setStateLocked(connectivity.TransientFailure, err)
	} else {
		sub.scale.Load().pausing = true
	}
	if sub.pause == nil {
		sub.pause = time.AfterFunc(max(pause, 0), sub.pauseOver)
	} else {
		sub.pause.Reset(max(pause, 0))
	}
}

// pauseOver ends TransientFailure when the back-off is over. The balancer decides whether to
// connect again.
func (sub *Subchannel) pauseOver() {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	if sub.state == connectivity.TransientFailure && sub.current == nil {
		sub.setStateLocked(connectivity.Idle, sub.failure)
	}
	sub.resumeLocked()
}

func (sub *Subchannel) resetBackoff() {
	sub.mu.Lock()
	sub.retries = 0
	waiting := sub.pause != nil && sub.pause.Stop()
	sub.mu.Unlock()
	if waiting {
		sub.pauseOver()
	}
}

// useLocked makes l the subchannel's connection.
func (sub *Subchannel) useLocked(l *Link) {
	sub.current = l
	if !sub.startHealthCheckLocked(l) {
		sub.setStateLocked(connectivity.Ready, nil)
	}
	sub.dispatchLocked()
}

// idleLocked sets the state after a connection was lost before it could be used.
func (sub *Subchannel) idleLocked() {
	if sub.current == nil {
		if !sub.lostEarlyLocked() {
			sub.setStateLocked(connectivity.Idle, nil)
		}
	} else {
		sub.dispatchLocked()
	}
}

// remove removes l from the subchannel, if it is one of its connections.
func (sub *Subchannel) remove(l *Link) {
	sub.mu.Lock()
	was := sub.owns(l)
	if was && !sub.promoteLocked(l) {
		sub.dropLocked()
		if sub.state != connectivity.Shutdown && !sub.lostEarlyLocked() {
			sub.setStateLocked(sub.stateWithoutLocked())
		}
	}
	sub.mu.Unlock()
	if was {
		sub.ch.resolveNow()
	}
}

// dropLocked removes all connections from the subchannel and ends the health check. It returns all
// of them but the current one.
func (sub *Subchannel) dropLocked() (more []*Link) {
	sub.current = nil
	sub.endProbationLocked()
	sub.exposeLocked()
	sub.stopHealthCheckLocked()
	return sub.disbandLocked()
}

// tearDown shuts down a subchannel that is not in the channel's list any more, and adds its connections to left,
// which the caller retires. RPCs on them go on.
func (sub *Subchannel) tearDown(left *[]*Link) {
	sub.mu.Lock()
	if sub.state == connectivity.Shutdown {
		sub.mu.Unlock()
		return
	}
	*left = append(*left, sub.resignLocked()...)
	sub.abandonLocked()
	sub.setStateLocked(connectivity.Shutdown, nil)
	sub.mu.Unlock()
	sub.unfollowScale()
	defer sub.node.Close()
	sub.producers.close()
}

// resignLocked removes all connections from the subchannel and returns them. The caller retires them,
// without the lock.
func (sub *Subchannel) resignLocked() []*Link {
	l := sub.current
	if l == nil {
		sub.dropLocked()
		return nil
	}
	return append(sub.dropLocked(), l)
}

// abandonLocked stops an attempt to connect, or the pause after a failed one.
func (sub *Subchannel) abandonLocked() {
	sub.abandonDialLocked()
	if sub.pause != nil {
		sub.pause.Stop()
	}
	if s := sub.scale.Load(); s != nil {
		s.pausing = false // the timer that would end it is stopped
	}
}

func (sub *Subchannel) abandonDialLocked() {
	if sub.cancel != nil {
		sub.cancel()
		sub.cancel = nil
	}
}
