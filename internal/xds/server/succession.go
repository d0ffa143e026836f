// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"net"

	"google.golang.org/grpc/connectivity"
)

// One edition follows another, and with each the mode may change.

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
