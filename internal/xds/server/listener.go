// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"net"
	"net/netip"
	"time"

	"google.golang.org/grpc/internal/netaddr"
	"google.golang.org/grpc/internal/xds/client"
)

// defaultDrainGrace is how long RPCs may continue on a connection whose configuration has been
// replaced (A36).
const defaultDrainGrace = 10 * time.Minute

// Listen wraps a listener in a Listener and begins to watch the Listener resource. It fails
// unless lis listens on a TCP address.
func Listen(lis net.Listener, o Options) (*Listener, error) {
	if _, ok := lis.Addr().(*net.TCPAddr); !ok {
		return nil, fmt.Errorf("xds: GRPCServer expects listener to return a net.TCPAddr. Got %T", lis.Addr())
	}
	name, err := o.Client.Bootstrap().ServerListener(lis.Addr().String())
	if err != nil {
		return nil, err
	}
	address, _ := netaddr.AddrPort(lis.Addr())
	if o.DrainGrace == 0 {
		o.DrainGrace = defaultDrainGrace
	}
	l := &Listener{
		Listener: lis, options: o, name: name, node: o.Client.Bootstrap().NodeLabel() + ": ",
		address: address, routes: make(map[string]*routes),
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cancel = client.Watch(o.Client.Client, o.Client.Listeners, name, (*listenerWatcher)(l))
	return l, nil
}

// Accept implements net.Listener. It leaves it to [Source.Admit] to look at a connection's addresses: some
// connections, such as those of the PROXY protocol, wait for their peer before they know them, and other clients
// must not wait with them.
func (l *Listener) Accept() (net.Conn, error) {
	raw, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &conn{Conn: raw, listener: l}, nil
}

// choose finds the filter chain of a new connection. It returns false if nothing is configured for the
// connection.
func (l *Listener) choose(c *conn) bool {
	here, _ := netaddr.AddrPort(c.LocalAddr()) // the zero value if it is not an IP address: no prefix contains that
	there, _ := netaddr.AddrPort(c.RemoteAddr())
	configured, added := l.add(c, there, here)
	if configured && !added && logger.V(2) {
		logger.Infof("listener %v: no filter chain is for a connection from %v to %v", l.Addr(), there, here)
	}
	return added
}

// add adds a connection to the current edition, if that has a filter chain for it. configured is false while nothing
// is served.
func (l *Listener) add(c *conn, from, to netip.AddrPort) (configured, added bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.current == nil {
		return false, false
	}
	fc := l.current.config.Match(from, to)
	if fc == nil {
		return true, false
	}
	l.current.addLocked(c, fc)
	return true, true
}

// Close implements net.Listener. It leaves the accepted connections to the server.
func (l *Listener) Close() error {
	var release func()
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
			release = l.current.abandonLocked()
			l.current = nil
		}
	}
	l.mu.Unlock()
	if release != nil {
		release()
	}
	return l.Listener.Close()
}
