// SPDX-License-Identifier: Apache-2.0

//go:build unix && !race

package readyreader

import "testing"

// A round through a wrapper allocates nothing, whether somebody waits apart or not.
func TestWrapperNoAllocations(t *testing.T) {
	w, peer := wrap(t, newBrittle)
	go echo(peer)
	pool := newTestPool(t)
	msg := make([]byte, 100)
	if n := testing.AllocsPerRun(100, func() {
		w.Write(msg)
		w.WaitInRead(true, pool)
		buf, _, err := w.TryRead(4096, pool)
		if err != nil {
			t.Fatal(err)
		}
		pool.Put(buf)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
