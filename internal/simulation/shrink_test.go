// SPDX-License-Identifier: Apache-2.0

package simulation

import "testing"

// shrinkTries bounds how many histories shrinking runs.
const shrinkTries = 400

// shrink returns choices that fail as those of r do, fewer and smaller ones.
func shrink(t *testing.T, r result) []uint32 {
	best := r.choices
	kind := firstWords(r.failure)
	tries := 0
	fails := func(choices []uint32) bool {
		if tries++; tries > shrinkTries {
			return false
		}
		var points coverage
		again := replay(t, scripted(choices), &points, false)
		return firstWords(again.failure) == kind
	}
	for size := len(best) / 2; size > 0; size /= 2 {
		for at := len(best) - size; at >= 0; at -= size {
			cut := append(append([]uint32(nil), best[:at]...), best[min(at+size, len(best)):]...)
			if fails(cut) {
				best = cut
				continue
			}
			zero := append([]uint32(nil), best...)
			changed := false
			for i := at; i < min(at+size, len(zero)); i++ {
				changed = changed || zero[i] != 0
				zero[i] = 0
			}
			if changed && fails(zero) {
				best = zero
			}
		}
	}
	for len(best) > 0 && best[len(best)-1] == 0 {
		best = best[:len(best)-1]
	}
	return best
}

// firstWords tells failures of different kinds apart: it is the text without numbers.
func firstWords(failure string) string {
	var b []byte
	for _, c := range []byte(failure) {
		if c < '0' || c > '9' {
			b = append(b, c)
		}
	}
	return string(b[:min(len(b), 40)])
}
