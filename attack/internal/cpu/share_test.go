// SPDX-License-Identifier: Apache-2.0

package cpu

import "testing"

func TestSlowness(t *testing.T) {
	if s := Slowness(); s < 1 {
		t.Errorf("a computation takes %v times as long as it does", s)
	}
}
