// SPDX-License-Identifier: Apache-2.0

package grpclb

import (
	"encoding/json"
	"testing"
	"time"
)

func TestParseConfig(t *testing.T) {
	for text, want := range map[string]lbConfig{
		"{}": {fallback: 10 * time.Second},
		`{"childPolicy": [{"round_robin": {}}, {"pick_first": {}}]}`:                                              {fallback: 10 * time.Second},
		`{"childPolicy": [{"pick_first": {}}], "serviceName": "s", "initialFallbackTimeout": "1.5s", "other": 1}`: {pickFirst: true, serviceName: "s", fallback: 1500 * time.Millisecond},
	} {
		got, err := builder{}.ParseConfig(json.RawMessage(text))
		if err != nil || *got.(*lbConfig) != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "1", `{"childPolicy": 1}`, `{"serviceName": 1}`, `{"initialFallbackTimeout": "x"}`, `{"initialFallbackTimeout": "0s"}`} {
		if got, err := (builder{}).ParseConfig(json.RawMessage(text)); err == nil {
			t.Errorf("%s: %+v", text, got)
		}
	}
}
