// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"errors"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal/channelz"
	"google.golang.org/grpc/internal/healthcheck"
)

// healthState is the watch of the health of a subchannel's server (gRFC A17). The lock of
// the subchannel guards it.
type healthState struct {
	cancel context.CancelFunc             // ends the watch; nil while there is none
	turn   *func(b balancer.SubConnState) // the listener registered for this connection
}

// healthService is the service whose health is to be watched; watch is nil if none is.
func (ac *addrConn) healthService() (service string, watch healthcheck.Func) {
	c := ac.owner.config.Load()
	if c == nil || c.healthName == nil || ac.cc.opts.noHealthCheck {
		return "", nil
	}
	if watch = healthcheck.Registered(); watch == nil {
		channelLog.Warningf("%s: the service config asks for health checks, but package health is not imported", ac.cc.target)
	}
	return *c.healthName, watch
}

// startHealthCheckLocked watches the server's health on l, if the balancer wants the
// subchannel's own state to follow it. It returns false if it does not.
func (ac *addrConn) startHealthCheckLocked(l *link) bool {
	if !ac.wantsHealth {
		return false
	}
	service, watch := ac.healthService()
	if watch == nil {
		return false
	}
	ac.watchLocked(l, watch, service, func(s connectivity.State, reason error) {
		ac.mu.Lock()
		defer ac.mu.Unlock()
		if ac.current == l {
			ac.setStateLocked(s, reason)
		}
	})
	return true
}

// watchLocked runs a watch on l until the connection is lost or another one starts.
func (ac *addrConn) watchLocked(l *link, watch healthcheck.Func, service string, report func(connectivity.State, error)) {
	ac.endWatchLocked()
	ctx, cancel := context.WithCancel(context.Background())
	ac.health.cancel = cancel
	go func() {
		defer cancel()
		err := watch(ctx, healthcheck.Params{
			Service: service,
			Report:  report,
			Open: func(ctx context.Context, method string) (healthcheck.Stream, error) {
				return newLinkStream(ctx, l, &StreamDesc{ServerStreams: true}, method)
			},
		})
		if err != nil {
			ac.node.Trace(channelz.Error, "health check: "+err.Error(), nil)
			channelLog.Warningf("%s: health check of %s: %v", ac.cc.target, l.addr.Addr, err)
		}
	}()
}

func (ac *addrConn) endWatchLocked() {
	if ac.health.cancel != nil {
		ac.health.cancel()
		ac.health.cancel = nil
	}
}

func (ac *addrConn) stopHealthCheckLocked() {
	ac.endWatchLocked()
	ac.health = healthState{}
}

// RegisterHealthListener implements balancer.SubConn.
func (ac *addrConn) RegisterHealthListener(listener func(balancer.SubConnState)) {
	ac.mu.Lock()
	defer ac.mu.Unlock()
	if ac.state != connectivity.Ready {
		return // the balancer will hear of it, and come again
	}
	ac.endWatchLocked()
	if listener == nil {
		ac.health.turn = nil
		return
	}
	turn := &listener
	ac.health.turn = turn
	service, watch := ac.healthService()
	if watch == nil {
		ac.tellHealthLocked(turn, connectivity.Ready, nil)
		return
	}
	ac.tellHealthLocked(turn, connectivity.Connecting, nil)
	ac.watchLocked(ac.current, watch, service, func(s connectivity.State, reason error) {
		ac.mu.Lock()
		defer ac.mu.Unlock()
		ac.tellHealthLocked(turn, s, reason)
	})
}

// tellHealthLocked reports to the listener in its turn, unless another has taken its
// place.
func (ac *addrConn) tellHealthLocked(turn *func(balancer.SubConnState), s connectivity.State, reason error) {
	if ac.health.turn != turn {
		return
	}
	ac.owner.calls.Go(func() {
		ac.mu.Lock()
		current := ac.health.turn == turn
		ac.mu.Unlock()
		if current && !ac.owner.isClosed() {
			(*turn)(balancer.SubConnState{ConnectivityState: s, ConnectionError: reason})
		}
	})
}

var errNotReady = errors.New("the subchannel is not ready")
