// SPDX-License-Identifier: Apache-2.0

package tokencache

import (
	"sync"
	"time"
)

const (
	// freeTries is how many requests for a token may fail in a row before there are pauses.
	freeTries = 10
	// tryPause is how long no request is made after each failure from then on.
	tryPause = 100 * time.Millisecond
)

// Pace limits how often RPCs ask an issuer of tokens. Without it, each RPC would ask an issuer
// that fails at once. The zero value is ready for use. Its methods are safe for concurrent use.
type Pace struct {
	mu       sync.Mutex // guards the fields below
	failures int        // since the last success
	failed   time.Time
	err      func() error // a function, so that printing credentials does not print the issuer's answer
}

// Held returns the error of the last request if the next request must wait, and nil if it may
// be made now.
func (p *Pace) Held() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failures < freeTries || time.Since(p.failed) >= tryPause {
		return nil
	}
	return p.err()
}

// Answered records the outcome of a request. The caller must call it after each one.
func (p *Pace) Answered(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err, p.failed = func() error { return err }, time.Now()
	p.failures++
	if err == nil {
		p.failures = 0
	}
}
