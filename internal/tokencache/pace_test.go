// SPDX-License-Identifier: Apache-2.0

package tokencache

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p Pace
		fault, asked := errors.New("no"), 0
		for begin := time.Now(); time.Since(begin) < 10*time.Second; time.Sleep(time.Millisecond) {
			if err := p.Held(); err == nil {
				asked++
				p.Answered(fault)
			} else if err != fault {
				t.Fatal(err)
			}
		}
		if asked != freeTries+99 {
			t.Errorf("asked %d times in 10 s", asked)
		}
		time.Sleep(tryPause)
		p.Answered(nil)
		if err := p.Held(); err != nil {
			t.Error(err)
		}
	})
}
