// SPDX-License-Identifier: Apache-2.0

// Package acceptor accepts the connections of a listener.
package acceptor

import (
	"errors"
	"net"
	"time"
)

// After an error that calls itself temporary, for example because the process has no descriptors left, Run
// tries again after a pause. The pause doubles from minDelay to maxDelay.
const (
	minDelay = 5 * time.Millisecond
	maxDelay = time.Second
)

// Acceptor says what to do with what a listener accepts. All fields must be set.
type Acceptor struct {
	// Take gets each connection, and owns it. Run accepts the next one only when Take has returned.
	Take func(net.Conn)
	// Over reports whether the listener fails only because it was closed.
	Over func() bool
	// Done ends a pause when it is closed.
	Done <-chan struct{}
	// Pausing is called with the error before each pause.
	Pausing func(err error, pause time.Duration)
}

// Run accepts until the listener fails. It returns nil if Over reports true then, else the error.
func (a *Acceptor) Run(lis net.Listener) error {
	var pause time.Duration
	for {
		raw, err := lis.Accept()
		switch {
		case err == nil:
			pause = 0
			a.Take(raw)
			continue
		case a.Over():
			return nil
		case !isTemporary(err):
			return err
		}
		pause = min(max(2*pause, minDelay), maxDelay)
		a.Pausing(err, pause)
		select {
		case <-time.After(pause):
		case <-a.Done:
		}
	}
}

func isTemporary(err error) bool {
	var t interface{ Temporary() bool }
	return errors.As(err, &t) && t.Temporary()
}
