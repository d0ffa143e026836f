// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/grpclog"
	"google.golang.org/grpc/internal/serializer"
	"google.golang.org/grpc/internal/xds/client"
	"google.golang.org/grpc/internal/xds/httpfilter"
	"google.golang.org/grpc/internal/xds/resource"
	"google.golang.org/grpc/internal/xds/xdsclient"
)

var logger = grpclog.Component("xds")

// DefaultDrainGrace is how long RPCs of a connection may go on whose configuration is no longer
// in force (A36).
const DefaultDrainGrace = 10 * time.Minute

// Options are what a Listener is made of.
type Options struct {
	Client *xdsclient.Client
	// ModeChanged is told, in order and one at a time, whether the server serves. The error
	// says why it does not. Nil: changes are logged.
	ModeChanged func(addr net.Addr, mode connectivity.ServingMode, err error)
	// DrainGrace is DefaultDrainGrace if it is 0.
	DrainGrace time.Duration
}

// Listener accepts connections as the control plane says. It has to be closed, as any.
type Listener struct {
	net.Listener
	options Options
	address netip.AddrPort
	name    string // of the resource
	node    string // stands before errors
	memory  httpfilter.Memory
	told    serializer.Serializer

	mu      sync.Mutex // guards what follows
	closed  bool
	cancel  func() // the watch of the Listener
	mode    connectivity.ServingMode
	current *edition // nil while nothing is served
	next    *edition // waits for its routes; nil if there is none
	routes  map[string]*routes
	broken  bool // a warning about routes was logged
}

// Listen makes a Listener of one that listens on a TCP address, and begins to watch.
func Listen(lis net.Listener, o Options) (*Listener, error) {
	addr, ok := lis.Addr().(*net.TCPAddr)
	if !ok {
		return nil, fmt.Errorf("xds: GRPCServer expects listener to return a net.TCPAddr. Got %T", lis.Addr())
	}
	name, err := o.Client.Bootstrap().ServerListener(lis.Addr().String())
	if err != nil {
		return nil, err
	}
	if o.DrainGrace == 0 {
		o.DrainGrace = DefaultDrainGrace
	}
	l := &Listener{
		Listener: lis, options: o, name: name, node: prefixOf(o.Client.Bootstrap().NodeID()),
		address: netip.AddrPortFrom(addr.AddrPort().Addr().Unmap(), addr.AddrPort().Port()),
		routes:  make(map[string]*routes),
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cancel = client.Watch(o.Client.Client, o.Client.Listeners, name, (*listenerWatcher)(l))
	return l, nil
}

// Accept implements net.Listener. Connections that nothing is configured for are closed before
// anything is sent.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		raw, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if c := l.take(raw); c != nil {
			return c, nil
		}
		_ = raw.Close() // nobody is told
	}
}

// take returns nil for a connection that is to be closed.
func (l *Listener) take(raw net.Conn) *conn {
	here, there := addressOf(raw.LocalAddr()), addressOf(raw.RemoteAddr())
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.current == nil {
		return nil
	}
	fc := l.current.config.Match(there, here)
	if fc == nil {
		if logger.V(2) {
			logger.Infof("listener %v: no filter chain is for a connection from %v to %v", l.Addr(), there, here)
		}
		return nil
	}
	return l.current.addLocked(raw, fc)
}

// addressOf returns the zero value for what is no IP address: no prefix contains it.
func addressOf(a net.Addr) netip.AddrPort {
	switch a := a.(type) {
	case nil:
		return netip.AddrPort{}
	case *net.TCPAddr:
		return a.AddrPort()
	}
	ap, _ := netip.ParseAddrPort(a.String())
	return ap
}

// Close implements net.Listener. Connections are left to the server.
func (l *Listener) Close() error {
	l.mu.Lock()
	first := !l.closed
	l.closed = true
	if first {
		l.cancel()
		for _, r := range l.routes {
			r.cancel()
		}
		clear(l.routes)
		l.next = nil
		if l.current != nil {
			l.current.abandonLocked()
			l.current = nil
		}
	}
	l.mu.Unlock()
	return l.Listener.Close()
}

// listenerWatcher is the Listener as a watcher of the resource.
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
	l.proceedLocked()
}

// Ambient implements client.Watcher: what there is stays in use.
func (w *listenerWatcher) Ambient(err error) {
	if err != nil {
		logger.Warningf("listener %v goes on with the Listener that it has: %v", w.Addr(), err)
	}
}

// checkLocked says why a resource can't be used (A36).
func (l *Listener) checkLocked(v *resource.Listener) error {
	if v.Server == nil {
		return fmt.Errorf("xds: Listener %q is for clients: it has an api_listener", l.name)
	}
	if a, err := netip.ParseAddrPort(v.Server.Address); err != nil || netip.AddrPortFrom(a.Addr().Unmap(), a.Port()) != l.address {
		return fmt.Errorf("xds: Listener %q has address %s, which is not %v that the server listens on", l.name, v.Server.Address, l.address)
	}
	return nil
}

// proceedLocked brings the next edition in force if its routes are there.
func (l *Listener) proceedLocked() {
	if l.next == nil || !l.next.complete() {
		return
	}
	e := l.next
	l.next = nil
	l.memory.Renew()
	l.replaceLocked(e)
	l.switchLocked(connectivity.ServingModeServing, nil)
	l.reportLocked()
}

// replaceLocked puts an edition, or nil, in the place of the current one.
func (l *Listener) replaceLocked(e *edition) {
	old := l.current
	l.current = e
	for name, r := range l.routes {
		if !e.uses(r) {
			r.cancel()
			delete(l.routes, name)
		}
	}
	if old != nil {
		old.retireLocked()
	}
}

// switchLocked tells of the mode. That the server serves still is no news; that it does not, for
// whatever reason this time, is.
func (l *Listener) switchLocked(mode connectivity.ServingMode, err error) {
	if l.mode == mode && mode == connectivity.ServingModeServing {
		return
	}
	l.mode = mode
	if err != nil {
		err = fmt.Errorf("%s%w", l.node, err)
	}
	tell := l.options.ModeChanged
	if tell == nil {
		tell = logMode
	}
	l.told.Go(func() { tell(l.Addr(), mode, err) })
}

func logMode(addr net.Addr, mode connectivity.ServingMode, err error) {
	if err != nil {
		logger.Warningf("listener %v enters mode %v: %v", addr, mode, err)
		return
	}
	logger.Warningf("listener %v enters mode %v", addr, mode)
}
