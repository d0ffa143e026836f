// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"net"

	"google.golang.org/grpc/connectivity"
)

// This file replaces one edition by the next, which may change the serving mode.

// proceedLocked puts the next edition into effect if there is one and its routes are complete.
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

// replaceLocked makes e, which may be nil, the current edition.
func (l *Listener) replaceLocked(e *edition) {
	old := l.current
	l.current = e
	l.dropRoutesLocked()
	if old != nil {
		old.retireLocked()
	}
}

// dropRoutesLocked ends the watches of the RouteConfigurations that neither edition uses.
func (l *Listener) dropRoutesLocked() {
	used := make(map[*routes]bool)
	l.current.addRoutes(used)
	l.next.addRoutes(used)
	for name, r := range l.routes {
		if !used[r] {
			r.cancel()
			delete(l.routes, name)
		}
	}
}

// switchLocked reports the serving mode. It does not report that the server serves if it was
// serving before. It always reports that the server does not serve, because the reason may be a
// new one.
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

// reportLocked has it logged why RPCs will fail, at each update. When they will no longer fail, it has that
// logged once (A36).
func (l *Listener) reportLocked() {
	if l.current == nil {
		return
	}
	err, was := l.current.faults(), l.broken
	l.broken = err != nil
	if err != nil || was {
		l.told.Go(func() { l.logFaults(err) })
	}
}

// logFaults logs why RPCs will fail, or, if err is nil, that they no longer will.
func (l *Listener) logFaults(err error) {
	if err != nil {
		logger.Warningf("listener %v: RPCs will fail: %v", l.Addr(), err)
		return
	}
	logger.Warningf("listener %v: what made RPCs fail is gone", l.Addr())
}
