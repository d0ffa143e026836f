// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"math"
	"strings"
	"testing"
)

func TestParseServiceConfig(t *testing.T) {
	for _, tt := range []struct{ js, policy, err string }{
		{`{}`, "pick_first", ""},
		{`{"loadBalancingPolicy":"round_robin"}`, "round_robin", ""},
		{`{"loadBalancingPolicy":"nobody knows"}`, "pick_first", ""},
		{`{"loadBalancingConfig":[{"nobody":{}},{"round_robin":{}}]}`, "round_robin", ""},
		{`{"loadBalancingConfig":[{"pick_first":{"shuffleAddressList":true}}]}`, "pick_first", ""},
		{`{"loadBalancingConfig":[{"nobody":{}}]}`, "", "nobody"},
		{`{"loadBalancingConfig":[]}`, "", "no supported policies"},
		{`{"loadBalancingConfig":[{"pick_first":{"shuffleAddressList":3}}]}`, "", "pick_first"},
		{`{"methodConfig":[{"name":[{"service":"a"},{"service":"a"}]}]}`, "", "duplicated name"},
		{`{`, "", "unexpected end of JSON input"},
	} {
		sc, err := ParseServiceConfig(tt.js, true)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: %v, want %q in the error", tt.js, err, tt.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.js, err)
			continue
		}
		if got := sc.balancerConfig().Child.Name(); got != tt.policy {
			t.Errorf("%s: %s, want %s", tt.js, got, tt.policy)
		}
	}
}

// TestParseServiceConfigScaling: connectionScaling that can't be read spoils the service config only where it counts.
func TestParseServiceConfigScaling(t *testing.T) {
	for _, tt := range []struct {
		field string
		limit int // -1: it can't be read
	}{
		{`{"maxConnectionsPerSubchannel":7}`, 7},
		{`{"maxConnectionsPerSubchannel":4294967295}`, math.MaxInt32},
		{`{}`, 0},
		{`null`, 0},
		{`{"maxConnectionsPerSubchannel":-1}`, -1},
		{`{"maxConnectionsPerSubchannel":"7"}`, -1},
		{`"x"`, -1},
	} {
		js := `{"connectionScaling":` + tt.field + `}`
		sc, err := ParseServiceConfig(js, true)
		switch {
		case tt.limit < 0 && err == nil:
			t.Errorf("%s: no error", js)
		case tt.limit >= 0 && (err != nil || sc.scale != tt.limit):
			t.Errorf("%s: limit %+v, error %v; want %d", js, sc, err, tt.limit)
		}
		if sc, err := ParseServiceConfig(js, false); err != nil || sc.scale != 0 {
			t.Errorf("%s, which does not count: limit %+v, error %v", js, sc, err)
		}
	}
}
