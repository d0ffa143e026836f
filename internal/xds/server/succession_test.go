// SPDX-License-Identifier: Apache-2.0

package server

import (
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc/internal/xds/resource"
)

// lockedListener has an Addr that uses the Listener, as a program's may, and counts its calls.
type lockedListener struct {
	noListener
	listener *atomic.Pointer[Listener]
	asked    *atomic.Int32
}

func (s lockedListener) Addr() net.Addr {
	if l := s.listener.Load(); l != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		s.asked.Add(1)
	}
	return s.noListener.Addr()
}

// TestReportsWithoutLock: the program's Addr and logger are called without the Listener's lock, for each update that has
// faults and for the first without.
func TestReportsWithoutLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		var user atomic.Pointer[Listener]
		l := listenerOn(lockedListener{listener: &user, asked: &asked}, &resource.RouteConfig{})
		defer l.Close()
		synctest.Wait()
		user.Store(l)
		faulty := &resource.RouteConfig{VirtualHosts: []resource.VirtualHost{{Routes: make([]resource.Route, 1)}}}
		r := &routes{name: "routes", cancel: func() {}}
		l.mu.Lock()
		for _, c := range l.current.chains {
			c.router.routes = r
		}
		l.mu.Unlock()
		for _, config := range []*resource.RouteConfig{faulty, faulty, {}, {}} {
			(&routesWatcher{l, r}).Changed(config, nil)
			synctest.Wait()
		}
		if n := asked.Load(); n != 3 {
			t.Errorf("%d reports", n)
		}
	})
}
