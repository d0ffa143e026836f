// SPDX-License-Identifier: Apache-2.0

package retry

import (
	"testing"
	"time"
)

func TestParsePushback(t *testing.T) {
	for _, tt := range []struct {
		values []string
		want   Pushback
	}{
		{nil, Pushback{}},
		{[]string{"0"}, Pushback{Said: true}},
		{[]string{"1500"}, Pushback{Said: true, Delay: 1500 * time.Millisecond}},
		{[]string{"-1"}, Pushback{Said: true, Never: true}},
		{[]string{"soon"}, Pushback{Said: true, Never: true}},
		{[]string{"1", "2"}, Pushback{Said: true, Never: true}},
		{[]string{"9223372036854775807"}, Pushback{Said: true, Never: true}},
	} {
		if got := parsePushback(tt.values); got != tt.want {
			t.Errorf("%q: %+v, want %+v", tt.values, got, tt.want)
		}
	}
}
