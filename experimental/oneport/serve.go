// SPDX-License-Identifier: Apache-2.0

package oneport

import (
	"net"
	"time"

	"google.golang.org/grpc/internal/acceptor"
)

// Serve accepts connections and passes them on. It returns nil when the port was closed,
// or both its sides were; or the error of the listener, if that fails: the port then is closed, and the
// servers' Serve return that error. Errors that call themselves temporary are tried again.
func (p *Port) Serve() error {
	a := acceptor.Acceptor{Take: p.take, Over: p.isOver, Done: p.done, Pausing: func(err error, pause time.Duration) {
		logger.Warningf("oneport: accepting failed, trying again in %v: %v", pause, err)
	}}
	err := a.Run(p.lis)
	if err != nil {
		_ = p.shut(err) // it failed already
	}
	return err
}

func (p *Port) isOver() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
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
