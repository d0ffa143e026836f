// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"sync"
	"testing"
)

func TestDerive(t *testing.T) {
	type a struct{ n int }
	type b struct{ n int }
	var d Derived
	made := 0
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			if got := Derive(&d, a{1}, func() string { made++; return "x" }); got != "x" {
				t.Errorf("%q", got)
			}
		})
	}
	wg.Wait()
	if made != 1 {
		t.Errorf("made %d times", made)
	}
	if got := Derive(&d, b{1}, func() int { return 5 }); got != 5 {
		t.Errorf("%d: keys of two types are one", got)
	}
	if got := Derive(&d, a{2}, func() string { return "y" }); got != "y" {
		t.Errorf("%q: two keys are one", got)
	}
}
