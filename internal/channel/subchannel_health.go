// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"context"
	"errors"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal/channelz"
	"google.golang.org/grpc/internal/healthcheck"
)

// healthService returns the service whose health the subchannel watches, and the function that
// watches it. watch is nil if there is nothing to watch.
func (sub *Subchannel) healthService() (service string, watch healthcheck.Func) {
	c := sub.owner.config.Load()
	if c == nil || c.healthName == nil || sub.ch.opts.NoHealthCheck {
		return "", nil
	}
	if watch = healthcheck.Registered(); watch == nil {
		// Not with mu held: the program's logger may close what it hears of.
		go logger.Errorf("%s: Health check is requested but health package is not imported.", sub.ch.Name)
	}
	return *c.healthName, watch
}

// startHealthCheckLocked starts a watch of the server's health on l that sets the subchannel's
// state. It returns false if it starts none, as the balancer does not ask for one or there is
// nothing to watch.
func (sub *Subchannel) startHealthCheckLocked(l *Link) bool {
	if !sub.wantsHealth {
		return false
	}
	service, watch := sub.healthService()
	if watch == nil {
		return false
	}
	sub.health.state.end()
	sub.health.state.cancel = sub.watch(l, watch, service, func(s connectivity.State, reason error) {
		sub.mu.Lock()
		defer sub.mu.Unlock()
		if sub.current != l {
			return
		}
		if s != connectivity.Ready {
			sub.dropListenerLocked()
		}
		sub.setStateLocked(s, reason)
	})
	return true
}

var errWatchLeft = errors.New("the health check's goroutine has ended")

// watch starts a watch on l, and returns the function that ends it.
func (sub *Subchannel) watch(l *Link, watch healthcheck.Func, service string, report func(connectivity.State, error)) context.CancelFunc {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer cancel()
		returned := false
		defer func() {
			if !returned && ctx.Err() == nil { // code of the program, such as credentials, has ended the goroutine
				report(connectivity.TransientFailure, errWatchLeft)
			}
		}()
		err := watch(ctx, healthcheck.Params{
			Service: service,
			Report:  report,
			Open: func(ctx context.Context, method string) (healthcheck.Stream, error) {
				return sub.ch.owner.HealthStream(ctx, l, method)
			},
		})
		returned = true
		if err != nil {
			sub.node.Trace(channelz.Error, "health check: "+err.Error(), nil)
			logger.Infof("%s: health check of %s: %v", sub.ch.Name, l.addr.Addr, err)
		}
	}()
	return cancel
}

// end ends the watch, if there is one.
func (w *healthWatch) end() {
	if w.cancel != nil {
		w.cancel()
		w.cancel = nil
	}
}

func (sub *Subchannel) stopHealthCheckLocked() {
	sub.health.state.end()
	sub.dropListenerLocked()
}

// dropListenerLocked forgets the listener, which hears nothing more, and ends its watch.
func (sub *Subchannel) dropListenerLocked() {
	sub.health.heard.end()
	sub.health.turn = nil
}

// RegisterHealthListener implements balancer.SubConn.
func (sub *Subchannel) RegisterHealthListener(listener func(balancer.SubConnState)) {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	if sub.state != connectivity.Ready || sub.current == nil {
		return // the balancer registers again when it hears of Ready
	}
	sub.dropListenerLocked()
	if listener == nil {
		return
	}
	turn := &listener
	sub.health.turn = turn
	service, watch := sub.healthService()
	if watch == nil {
		sub.tellHealthLocked(turn, connectivity.Ready, nil)
		return
	}
	sub.tellHealthLocked(turn, connectivity.Connecting, nil)
	sub.watchForLocked(turn, watch, service)
}

// watchForLocked starts a watch on the current connection that tells the listener the server's
// health. It ends an earlier one.
func (sub *Subchannel) watchForLocked(turn *func(balancer.SubConnState), watch healthcheck.Func, service string) {
	sub.health.heard.end()
	l := sub.current
	sub.health.heard.cancel = sub.watch(l, watch, service, func(s connectivity.State, reason error) {
		sub.mu.Lock()
		defer sub.mu.Unlock()
		if sub.current == l {
			sub.tellHealthLocked(turn, s, reason)
		}
	})
}

// moveHealthCheckLocked moves the watches, if there are any, to the connection that has become the
// current one.
func (sub *Subchannel) moveHealthCheckLocked() {
	if sub.health.state.cancel != nil {
		sub.startHealthCheckLocked(sub.current)
	}
	if sub.health.heard.cancel == nil {
		return
	}
	if service, watch := sub.healthService(); watch != nil {
		sub.watchForLocked(sub.health.turn, watch, service)
	}
}

// tellHealthLocked queues a report to the listener in the balancer's calls, unless another listener
// has replaced it.
func (sub *Subchannel) tellHealthLocked(turn *func(balancer.SubConnState), s connectivity.State, reason error) {
	if sub.health.turn != turn {
		return
	}
	sub.owner.calls.Go(func() {
		sub.mu.Lock()
		current := sub.health.turn == turn
		sub.mu.Unlock()
		if current && !sub.owner.isClosed() {
			(*turn)(balancer.SubConnState{ConnectivityState: s, ConnectionError: reason})
		}
	})
}
