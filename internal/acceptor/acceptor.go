// SPDX-License-Identifier: Apache-2.0

// Package acceptor accepts connections for whoever serves a listener.
package acceptor

import (
	"errors"
	"net"
	"time"
)

// After an error that calls itself temporary, such as that a process has no descriptors left,
// accepting is tried again after a pause, which doubles from the one to the other.
const (
	minDelay = 5 * time.Millisecond
	maxDelay = time.Second
)

// Acceptor says what becomes of what a listener accepts. All fields are to be set.
type Acceptor struct {
	// Take gets each connection, and owns it. The next one is not accepted before it returns.
	Take func(net.Conn)
	// Over reports whether an error of the listener is only that it was closed.
	Over func() bool
	// Done ends a pause.
	Done <-chan struct{}
	// Pausing is told of the error before each pause.
	Pausing func(err error, pause time.Duration)
}

// Run accepts until the listener fails: it returns nil if it is over then, else the error.
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
