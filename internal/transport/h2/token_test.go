// SPDX-License-Identifier: Apache-2.0

package h2

import "testing"

// TestTokenIsTakenOnce: whichever of the two comes first takes the offer, and the other one learns that.
func TestTokenIsTakenOnce(t *testing.T) {
	for _, holderFirst := range []bool{true, false} {
		var tok token
		tok.offer()
		if !tok.isOffered {
			t.Error("nobody is told of the offer")
		}
		var given, back bool
		if holderFirst {
			given = tok.giveBack()
			back = tok.takeBack()
		} else {
			back = tok.takeBack()
			given = tok.giveBack()
		}
		if given != holderFirst || back != holderFirst || tok.isOffered {
			t.Errorf("holder first: %t: given back %t, and known to be %t", holderFirst, given, back)
		}
		if tok.giveBack() {
			t.Error("it was given back without an offer")
		}
	}
}
