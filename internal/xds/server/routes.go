// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"sync/atomic"

	"google.golang.org/grpc/internal/xds/client"
	"google.golang.org/grpc/internal/xds/resource"
)

// routes are those of one RouteConfiguration, which changes: chains of several editions may go
// by them.
type routes struct {
	name    string
	cancel  func()
	current atomic.Pointer[routing] // nil until something is known
}

// routing is a RouteConfiguration, or why there is none.
type routing struct {
	config *resource.RouteConfig
	err    error
}

// fixedRoutes are those of the Listener itself.
func fixedRoutes(c *resource.RouteConfig) *routes {
	r := &routes{}
	r.current.Store(&routing{config: c})
	return r
}

// routesLocked returns those with a name, which it begins to watch if nobody does.
func (l *Listener) routesLocked(name string) *routes {
	if r, ok := l.routes[name]; ok {
		return r
	}
	r := &routes{name: name}
	l.routes[name] = r
	c := l.options.Client
	r.cancel = client.Watch(c.Client, c.Routes, name, &routesWatcher{l, r})
	return r
}

// routesWatcher tells a Listener of one of its RouteConfigurations.
type routesWatcher struct {
	listener *Listener
	routes   *routes
}

// Changed implements client.Watcher.
func (w *routesWatcher) Changed(v *resource.RouteConfig, err error) {
	l := w.listener
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	w.routes.current.Store(&routing{config: v, err: err})
	if l.next != nil {
		l.proceedLocked()
		return
	}
	l.reportLocked()
}

// Ambient implements client.Watcher: what there is stays in use.
func (w *routesWatcher) Ambient(err error) {
	if err != nil {
		logger.Warningf("listener %v goes on with the RouteConfiguration %q that it has: %v", w.listener.Addr(), w.routes.name, err)
	}
}

// reportLocked logs what will make RPCs fail, with each update, and once that it no longer will
// (A36).
func (l *Listener) reportLocked() {
	if l.current == nil {
		return
	}
	err := l.current.faults()
	switch {
	case err != nil:
		logger.Warningf("listener %v: RPCs will fail: %v", l.Addr(), err)
	case l.broken:
		logger.Warningf("listener %v: what made RPCs fail is gone", l.Addr())
	}
	l.broken = err != nil
}

// faults returns the first thing that will make RPCs fail.
func (e *edition) faults() error {
	for _, c := range e.chains {
		now := c.router.routes.current.Load()
		if now == nil {
			continue
		}
		if now.err != nil {
			return fmt.Errorf("RouteConfiguration %q: %w", c.router.routes.name, now.err)
		}
		for i := range now.config.VirtualHosts {
			for j := range now.config.VirtualHosts[i].Routes {
				if now.config.VirtualHosts[i].Routes[j].Action != resource.NonForwarding {
					return fmt.Errorf("RouteConfiguration %q: virtual_hosts[%d].routes[%d] has no non_forwarding_action", now.config.Name, i, j)
				}
			}
		}
	}
	return nil
}
