// SPDX-License-Identifier: Apache-2.0

//go:build linux && !386 && !s390x && !race

package readyreader

import "testing"

// A round of a busy wrapper allocates nothing: it starts no goroutine and no timer.
func TestBusyWrapperNoAllocations(t *testing.T) {
	w, peer := wrap(t, newBrittle)
	w.pace = &usualPace
	rounds(t, w, peer)
	pool := newTestPool(t)
	msg := make([]byte, 100)
	if n := testing.AllocsPerRun(100, func() {
		w.Write(msg)
		buf, _, err := w.ReadOnReady(4096, pool)
		if err != nil {
			t.Fatal(err)
		}
		pool.Put(buf)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if w.known() == distrusted {
		t.Error(w.WhyNot())
	}
}
