// SPDX-License-Identifier: Apache-2.0

package retry

import (
	"slices"
	"testing"
)

func TestReplay(t *testing.T) {
	var r Replay[string]
	if r.Committed() || r.Ended() || len(r.Sent()) != 0 {
		t.Fatalf("%+v to begin with", r)
	}
	for i, m := range []string{"abc", "", "de"} { // 3, 3, 5 bytes
		if !r.Keep(m, len(m), 5) {
			t.Errorf("message %d is too much", i)
		}
	}
	if want := []string{"abc", "", "de"}; !slices.Equal(r.Sent(), want) {
		t.Errorf("%q is kept, want %q", r.Sent(), want)
	}
	if r.Keep("f", 1, 5) {
		t.Error("six bytes are not more than five")
	}
	r.KeepEnd()
	if got := r.Commit(); len(got) != 4 || !r.Committed() || len(r.Sent()) != 0 || !r.Ended() {
		t.Errorf("%q was kept; then %+v", got, r)
	}
	if got := r.Commit(); len(got) != 0 {
		t.Errorf("committed again, it kept %q", got)
	}
}
