// SPDX-License-Identifier: Apache-2.0

package readyreader

import (
	"sync/atomic"
	"testing"
)

func TestRetained(t *testing.T) {
	var sum atomic.Int64
	var a, b Retained
	a.Set(10)
	a.CountIn(&sum)
	b.CountIn(&sum)
	b.Set(5)
	a.Set(7)
	a.Set(7)
	if sum.Load() != 12 || a.Load() != 7 || b.Load() != 5 {
		t.Errorf("%d in all, of %d and %d", sum.Load(), a.Load(), b.Load())
	}
	a.Set(0)
	b.Set(0)
	if sum.Load() != 0 {
		t.Errorf("%d bytes are left", sum.Load())
	}
}
