// SPDX-License-Identifier: Apache-2.0

package certprovider

import (
	"context"
	"sync"
)

// Distributor is the part of a Provider that hands out key material. Its owner supplies the
// material with Set. Its methods are safe for concurrent use.
type Distributor struct {
	ready chan struct{} // closed by the first Set or Stop

	mu      sync.Mutex // guards the fields below
	isReady bool
	stopped bool
	current *KeyMaterial
	err     error
}

// NewDistributor returns an empty Distributor.
func NewDistributor() *Distributor {
	return &Distributor{ready: make(chan struct{})}
}

// Set replaces what KeyMaterial returns, and wakes callers that wait in it. If err is not nil, km does not count. It does
// nothing after Stop.
func (d *Distributor) Set(km *KeyMaterial, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stopped {
		return
	}
	if err != nil {
		km = nil
	}
	d.current, d.err = km, err
	d.wake()
}

// Stop makes KeyMaterial fail from now on.
func (d *Distributor) Stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stopped = true
	d.current, d.err = nil, errProviderClosed
	d.wake()
}

func (d *Distributor) wake() {
	if !d.isReady {
		d.isReady = true
		close(d.ready)
	}
}

// KeyMaterial returns what was Set last. Before the first Set it waits; if ctx ends first, it
// returns the context's error.
func (d *Distributor) KeyMaterial(ctx context.Context) (*KeyMaterial, error) {
	select {
	case <-d.ready:
	default:
		select {
		case <-d.ready:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.current, d.err
}
