// SPDX-License-Identifier: Apache-2.0

package channel

import "testing"

// TestSettles: what was assumed becomes settled by an answer with the same service config, and the throttle stays.
func TestSettles(t *testing.T) {
	for name, sc := range map[string]*ServiceConfig{"some": {}, "none": NoServiceConfig} {
		c := assume(sc)
		if c.settled() != nil || (*config)(nil).settled() != nil {
			t.Errorf("%s: it is settled before there is an answer", name)
		}
		answered := c.with(sc, nil)
		if answered.settled() != answered || !answered.holds(sc) || answered.throttle != c.throttle {
			t.Errorf("%s: then it is %+v", name, answered)
		}
		if answered.with(sc, nil) != answered {
			t.Errorf("%s: another answer with the same makes another", name)
		}
	}
}
