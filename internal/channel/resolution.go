// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"context"
	"fmt"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/base"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal/channelz"
	"google.golang.org/grpc/internal/rpcconfig"
	internalserviceconfig "google.golang.org/grpc/internal/serviceconfig"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/serviceconfig"
	"google.golang.org/grpc/status"
)

// resolverUpdate gives the balancer the resolver's state and the service config that goes with it
// (gRFC A21). If the state has no service config, that is the one in use, or else the fallback.
func (ch *Channel) resolverUpdate(r *resolverWrapper, s resolver.State) (err error) {
	done := make(chan struct{})
	r.updates.Do(func() {
		defer close(done)
		err = ch.updateInTurn(r, s)
	})
	<-done
	return err
}

func (ch *Channel) updateInTurn(r *resolverWrapper, s resolver.State) error {
	b := ch.current(r)
	if b == nil {
		return nil
	}
	c := ch.config.Load().settled()
	sc, err := ch.opts.Fallback, error(nil)
	if c != nil {
		sc = c.ServiceConfig
	}
	if !ch.opts.NoServiceConfig && s.ServiceConfig != nil {
		sc, err = ch.usableConfig(s.ServiceConfig)
	}
	if err == nil {
		return ch.apply(r, s, sc)
	}
	if c != nil {
		// A21: an invalid config does not replace one that is in use.
		logger.Warningf("%s: the resolver brought an invalid service config: %v", ch.Name, err)
		_ = b.update(s, c.ServiceConfig)
		return balancer.ErrBadResolverState
	}
	b.wait(func() { // after what an error of the resolver, before this, may still have to report
		b.UpdateState(failing(status.Error(codes.Unavailable, err.Error())))
	})
	ch.answered(r)
	return balancer.ErrBadResolverState
}

// apply gives the balancer a state, and then makes sc and the state's Selector the configuration of
// RPCs. "The channel must update the LB Policy before applying the Config Selector" (gRFC A31).
func (ch *Channel) apply(r *resolverWrapper, s resolver.State, sc *ServiceConfig) error {
	b := ch.current(r)
	if b == nil {
		return nil
	}
	var selector rpcconfig.Selector
	if !ch.opts.NoServiceConfig {
		selector = rpcconfig.SelectorOf(s)
	}
	c := ch.config.Load()
	if c.holds(sc) {
		sc = c.ServiceConfig
	} else if c.settled() != nil || sc != ch.opts.Fallback {
		ch.node.Trace(channelz.Info, "Service config changed", nil) // gRFC A3: such an event must be traced
	}
	if selector == nil && (c == nil || c.selector == nil) {
		ch.useConfig(r, sc, nil) // the first RPCs need not wait for the balancer
		return b.update(s, sc)
	}
	err := b.update(s, sc)
	ch.useConfig(r, sc, selector)
	return err
}

// useConfig makes sc and s the channel's service config and Selector, if r is still its resolver.
// When useConfig returns, no RPC uses the previous Selector any more.
func (ch *Channel) useConfig(r *resolverWrapper, sc *ServiceConfig, s rpcconfig.Selector) {
	ch.mu.Lock()
	old := ch.config.Load()
	ch.storeAndUnlock(r, old, old.with(sc, s))
}

// storeAndUnlock makes c, which replaces old, what RPCs use, if r is still the channel's resolver. The caller holds mu.
func (ch *Channel) storeAndUnlock(r *resolverWrapper, old, c *config) {
	if ch.closed || ch.resolver != r {
		ch.mu.Unlock()
		return
	}
	ch.config.Store(c)
	ch.answeredLocked()
	rescaled := ch.opts.Scale && ch.scale.Swap(int32(c.scale)) != int32(c.scale)
	ch.mu.Unlock()
	if old != nil && old != c {
		old.selector.end()
	}
	if rescaled {
		ch.rescale()
	}
}

// dropSelectorLocked removes and returns the Selector of a resolver that is about to be closed; nil
// if it has none. If it had one, or brought no valid service config, or only an error, RPCs then wait for the
// answer of the next resolver.
func (ch *Channel) dropSelectorLocked() *selectorTurn {
	c := ch.config.Load().settled()
	if c != nil && c.selector == nil {
		return nil
	}
	ch.config.Store(nil)
	ch.resolved = ch.closed
	if c == nil {
		return nil
	}
	return c.selector
}

// answered wakes the RPCs that wait for the first answer of r, unless the channel has left it meanwhile.
func (ch *Channel) answered(r *resolverWrapper) {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	if ch.resolver == r {
		ch.answeredLocked()
	}
}

func (ch *Channel) answeredLocked() {
	ch.resolved = true
	if ch.answer != nil {
		close(ch.answer)
		ch.answer = nil
	}
}

// firstAnswer returns a channel that is closed when the resolver gives its first answer, or nil if
// it has given it.
func (ch *Channel) firstAnswer() <-chan struct{} {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	if !ch.resolved && ch.answer == nil {
		ch.answer = make(chan struct{})
	}
	return ch.answer
}

// ensureConfig makes RPCs use the fallback if there is no service config. An answer may still settle another one.
func (ch *Channel) ensureConfig(r *resolverWrapper) {
	ch.mu.Lock()
	if ch.config.Load() != nil {
		ch.mu.Unlock()
		return
	}
	ch.storeAndUnlock(r, nil, assume(ch.opts.Fallback))
}

// awaitConfig returns the config, which an RPC needs to begin, and whether it had to wait for the
// resolver.
func (ch *Channel) awaitConfig(ctx context.Context) (c *config, waited bool, err error) {
	if c := ch.config.Load(); c != nil {
		return c, false, nil
	}
	if answer := ch.firstAnswer(); answer != nil {
		waited = true
		select {
		case <-answer:
		case <-ctx.Done():
			return nil, true, status.FromContextError(ctx.Err()).Err()
		}
	}
	if c := ch.config.Load(); c != nil {
		return c, waited, nil
	}
	if ch.Closed() { // the picker may still be that of a Selector whose RPCs know where they go
		return nil, waited, ErrClosing
	}
	// The service config was invalid: every pick will fail.
	return emptyConfig, waited, nil
}

// MethodConfig returns the service config of a method, "/service/method".
func (ch *Channel) MethodConfig(method string) internalserviceconfig.MethodConfig {
	if c := ch.config.Load(); c != nil {
		return c.method(method)
	}
	return internalserviceconfig.MethodConfig{}
}

// failing returns the state of a channel whose RPCs all fail with err.
func failing(err error) balancer.State {
	return balancer.State{ConnectivityState: connectivity.TransientFailure, Picker: base.NewErrPicker(err)}
}

// resolverFailed tells the balancer of the resolver's error. Connections and configuration
// stay.
func (ch *Channel) resolverFailed(r *resolverWrapper, err error) {
	b := ch.current(r)
	if b == nil {
		return
	}
	ch.ensureConfig(r)
	b.resolverError(err)
}

// usableConfig returns the service config that a resolver brought.
func (ch *Channel) usableConfig(r *serviceconfig.ParseResult) (*ServiceConfig, error) {
	if r.Err != nil {
		return nil, fmt.Errorf("error parsing service config: %w", r.Err)
	}
	if sc := ch.owner.ServiceConfigOf(r.Config); sc != nil {
		return sc, nil
	}
	return nil, fmt.Errorf("illegal service config type: %T", r.Config) // ParseServiceConfig did not make it
}
