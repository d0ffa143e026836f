// SPDX-License-Identifier: Apache-2.0

package tokencache

import (
	"sync"
	"time"
)

const (
	// freeTries is how many requests for a token may fail one after the other without a pause.
	freeTries = 10
	// tryPause is how far apart those are that follow.
	tryPause = 100 * time.Millisecond
)

// Pace keeps RPCs from asking an issuer of tokens that fails at once as often as they fail
// themselves. The zero value is ready for use.
type Pace struct {
	mu       sync.Mutex // guards what follows
	failures int        // since the last success
	failed   time.Time
	err      func() error // a function: who prints credentials prints no answer of the issuer
}

// Held returns the error of the last request if the next one has to wait, or nil.
func (p *Pace) Held() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failures < freeTries || time.Since(p.failed) >= tryPause {
		return nil
	}
	return p.err()
}

// Answered is called with the outcome of each request.
func (p *Pace) Answered(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err, p.failed = func() error { return err }, time.Now()
	p.failures++
	if err == nil {
		p.failures = 0
	}
}
