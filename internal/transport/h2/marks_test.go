// SPDX-License-Identifier: Apache-2.0

package h2

import "testing"

// TestTokenIsTakenOnce: whichever of the two comes first takes the offer, and the other one learns that. The
// role beside it stays.
func TestTokenIsTakenOnce(t *testing.T) {
	for _, holderFirst := range []bool{true, false} {
		var m marks
		m.move(begin)
		m.offer()
		var given, back bool
		if holderFirst {
			given = m.giveBack()
			back = m.withdraw()
		} else {
			back = m.withdraw()
			given = m.giveBack()
		}
		if given != holderFirst || back != holderFirst || m.role() != reading {
			t.Errorf("holder first: %t: given back %t, and known to be %t; role %d", holderFirst, given, back, m.role())
		}
		if m.giveBack() {
			t.Error("it was given back without an offer")
		}
		m.offer()
		if m.move(release) != reading || !m.giveBack() || m.role() != away {
			t.Error("the role moved with the offer")
		}
	}
}
