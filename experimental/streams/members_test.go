// SPDX-License-Identifier: Apache-2.0

package streams

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestMembers: those are members that were added and not removed, however many there are, and each is
// found without a look at the others where there are many.
func TestMembers(t *testing.T) {
	rnd := rand.New(rand.NewPCG(36, 2))
	var m members[None, None]
	var want []*Server[None, None]
	for step := range 5000 {
		grows := step/1000%2 == 0
		if rnd.IntN(4) > 0 == grows {
			s := new(Server[None, None])
			m.add(s)
			want = append(want, s)
		} else if len(want) > 0 {
			i := rnd.IntN(len(want))
			if !m.remove(want[i]) || m.remove(want[i]) {
				t.Fatal("a member is removed once")
			}
			want = slices.Delete(want, i, i+1)
		}
		if len(m.list) != len(want) || m.at != nil && len(m.at) != len(want) || m.at == nil && len(want) > fewMembers {
			t.Fatalf("%d members, %d of them have a place, want %d", len(m.list), len(m.at), len(want))
		}
	}
	for _, s := range want {
		if i := m.find(s); i < 0 || m.list[i] != s {
			t.Fatal("a member is not where it is looked for")
		}
	}
	if m.remove(new(Server[None, None])) {
		t.Error("a stranger was a member")
	}
}
