// SPDX-License-Identifier: Apache-2.0

package dependency

import (
	"sync"

	"google.golang.org/grpc/internal/serializer"
)

// agenda has an update made after changes, one for many that come together. Its mutex guards
// all that updates are made of.
type agenda struct {
	update  func() // immutable
	updates serializer.Serializer

	mu     sync.Mutex
	closed bool
	dirty  bool // an update is due
}

// touchLocked has an update made.
func (a *agenda) touchLocked() {
	if !a.dirty && !a.closed {
		a.dirty = true
		a.updates.Go(a.update)
	}
}
