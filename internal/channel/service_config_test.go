// SPDX-License-Identifier: Apache-2.0

package channel

import (
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
		sc, err := ParseServiceConfig(tt.js)
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
