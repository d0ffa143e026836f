// SPDX-License-Identifier: Apache-2.0

package oneport

import (
	"errors"
	"net"
	"time"
)

// Serve accepts connections and passes them on. It returns nil when the port was closed,
// or both its sides were; or the error of the listener, if that fails: the port then is closed, and the
// servers' Serve return that error. Errors that call themselves temporary are tried again.
func (p *Port) Serve() error {
	var delay time.Duration
	for {
		raw, err := p.lis.Accept()
		if err == nil {
			delay = 0
			p.take(raw)
			continue
		}
		select {
		case <-p.done:
			return nil
		default:
		}
		if !isTemporary(err) {
			_ = p.shut(err) // it failed already
			return err
		}
		delay = min(max(2*delay, minAcceptDelay), maxAcceptDelay)
		logger.Warningf("oneport: accepting failed, trying again in %v: %v", delay, err)
		select {
		case <-time.After(delay):
		case <-p.done:
		}
	}
}

func isTemporary(err error) bool {
	var t interface{ Temporary() bool }
	return errors.As(err, &t) && t.Temporary()
}

// take has a new connection looked at.
func (p *Port) take(raw net.Conn) {
	a := &arrival{port: p, raw: raw, conn: raw}
	p.mu.Lock()
	closed := p.closed
	if !closed {
		p.fresh[a] = struct{}{}
	}
	p.mu.Unlock()
	if closed {
		_ = raw.Close() // nothing was said on it
		return
	}
	go a.run()
}
