// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"testing"
	"time"
)

func TestResolvePaceBurst(t *testing.T) {
	var (
		p   resolvePace
		now = time.Unix(100, 0)
	)
	for i := range 50 {
		wait, due := p.request(now)
		want := resolveInterval
		if i < resolveBurst {
			want = 0
		}
		if !due || wait != want {
			t.Fatalf("request %d: wait %v, due %v; want %v", i, wait, due, want)
		}
		if _, due := p.request(now); due {
			t.Fatalf("request %d was granted twice", i)
		}
		now = now.Add(wait)
		p.made()
	}
	now = now.Add(resolveBurst * resolveInterval)
	for i := range resolveBurst {
		if wait, due := p.request(now); wait != 0 || !due {
			t.Errorf("request %d after a rest: wait %v, due %v", i, wait, due)
		}
		p.made()
	}
}
