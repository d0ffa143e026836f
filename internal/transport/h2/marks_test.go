// SPDX-License-Identifier: Apache-2.0

package h2

import "testing"

// TestTokenIsTakenOnce: whichever of the two comes first decides, and the other one learns that. The
// role beside it stays.
func TestTokenIsTakenOnce(t *testing.T) {
	for _, holderFirst := range []bool{true, false} {
		var m marks
		m.move(begin)
		m.loosen()
		var given, back bool
		if holderFirst {
			given = m.giveBack()
			back = m.fasten()
		} else {
			back = m.fasten()
			given = m.giveBack()
		}
		if given != holderFirst || back != holderFirst || m.role() != reading {
			t.Errorf("holder first: %t: given back %t, and known to be %t; role %d", holderFirst, given, back, m.role())
		}
		if m.giveBack() {
			t.Error("it was given back and was not loose")
		}
		m.loosen()
		if m.move(release) != reading || !m.giveBack() || m.role() != away {
			t.Error("the role moved with the token")
		}
	}
}
