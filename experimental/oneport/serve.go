// SPDX-License-Identifier: Apache-2.0

package oneport

import (
	"net"
	"time"

	"google.golang.org/grpc/internal/acceptor"
)

// Serve accepts connections and passes them on. It returns nil when the port has been closed, or both
// its sides have been. It returns an error if the listener fails; the port is then closed, and the
// servers' Serve methods return that error. Errors that say that they are temporary are tried again.
func (p *Port) Serve() error {
	a := acceptor.Acceptor{Take: p.take, Over: p.isOver, Done: p.done, Pausing: func(err error, pause time.Duration) {
		logger.Warningf("oneport: accepting failed, trying again in %v: %v", pause, err)
	}}
	err := a.Run(p.lis)
	if err != nil {
		_ = p.shut(err) // the listener has failed already
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

// take starts a goroutine that finds out which server a new connection is for.
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
