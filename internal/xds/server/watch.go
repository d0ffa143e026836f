// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"net/netip"

	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal/xds/client"
	"google.golang.org/grpc/internal/xds/handshake"
	"google.golang.org/grpc/internal/xds/resource"
)

// This file has the watchers that receive resources for a Listener.

// listenerWatcher is a Listener as the watcher of its Listener resource.
type listenerWatcher Listener

// Changed implements client.Watcher.
func (w *listenerWatcher) Changed(v *resource.Listener, err error) {
	l := (*Listener)(w)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	if err == nil {
		err = l.checkLocked(v)
	}
	if err != nil {
		l.next = nil
		l.replaceLocked(nil)
		l.switchLocked(connectivity.ServingModeNotServing, err)
		return
	}
	l.next = l.newEditionLocked(v.Server)
	l.dropRoutesLocked() // those of an edition that l.next has replaced before it came into effect
	l.proceedLocked()
}

// Ambient implements client.Watcher. The current resource stays in use.
func (w *listenerWatcher) Ambient(err error) {
	if err != nil {
		logger.Warningf("listener %v goes on with the Listener that it has: %v", w.Addr(), err)
	}
}

// checkLocked returns an error that says why a resource can't be used, or nil if it can be (A36).
func (l *Listener) checkLocked(v *resource.Listener) error {
	if v.Server == nil {
		return fmt.Errorf("xds: Listener %q is for clients: it has an api_listener", l.name)
	}
	if !l.hasAddress(v.Server.Address) {
		return fmt.Errorf("xds: Listener %q has address %s, which is not %v that the server listens on", l.name, v.Server.Address, l.address)
	}
	return nil
}

// hasAddress reports whether text is the address that the server listens on. Port 0 in text matches
// any port.
func (l *Listener) hasAddress(text string) bool {
	a, err := netip.ParseAddrPort(text)
	return err == nil && a.Addr().Unmap() == l.address.Addr() && (a.Port() == l.address.Port() || a.Port() == 0)
}

// newEditionLocked prepares an edition, and watches the RouteConfigurations that it names.
func (l *Listener) newEditionLocked(config *resource.ServerListener) *edition {
	e := &edition{
		listener: l, config: config,
		chains: make(map[*resource.FilterChain]*chain), conns: make(map[*conn]struct{}),
	}
	for _, fc := range config.Chains {
		e.addChainLocked(fc)
	}
	if config.Default != nil {
		e.addChainLocked(config.Default)
	}
	return e
}

func (e *edition) addChainLocked(fc *resource.FilterChain) {
	l := e.listener
	c := &chain{edition: e, router: &router{node: l.node, filters: fc.HTTP.Filters, memory: &l.memory}}
	if fc.TLS != nil {
		c.tls = handshake.NewServer(fc.TLS, l.options.Client.Bootstrap().CertProviders)
	}
	if fc.HTTP.Routes != nil {
		c.router.routes = fixedRoutes(fc.HTTP.Routes)
	} else {
		c.router.routes = l.routesLocked(fc.HTTP.RouteName)
	}
	e.chains[fc] = c
}

// routesLocked returns the RouteConfiguration called name, and begins to watch it if the Listener
// does not watch it yet.
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

// routesWatcher passes the versions of a RouteConfiguration on to a Listener.
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

// Ambient implements client.Watcher. The current resource stays in use.
func (w *routesWatcher) Ambient(err error) {
	if err != nil {
		logger.Warningf("listener %v goes on with the RouteConfiguration %q that it has: %v", w.listener.Addr(), w.routes.name, err)
	}
}
