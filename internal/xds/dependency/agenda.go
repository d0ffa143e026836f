// SPDX-License-Identifier: Apache-2.0

package dependency

import (
	"sync"

	"google.golang.org/grpc/internal/serializer"
)

// agenda schedules updates. Many changes that come together cause only one update. Its mutex
// guards everything that updates are made from.
type agenda struct {
	update  func() // immutable
	updates serializer.Serializer

	mu     sync.Mutex
	closed bool
	dirty  bool // an update is due
}

// touchLocked schedules an update, unless one is scheduled already.
func (a *agenda) touchLocked() {
	if !a.dirty && !a.closed {
		a.dirty = true
		a.updates.Go(a.update)
	}
}
