// SPDX-License-Identifier: Apache-2.0

package rls

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

const goodKeys = `"grpcKeybuilders": [{"names": [{"service": "s"}]}], "lookupService": "l"`

func config(lookup, rest string) string {
	return `{"routeLookupConfig": {` + lookup + `}` + rest + `}`
}

const goodChild = `, "childPolicy": [{"unknown": {}}, {"rls_test_child": {"more": 1}}], "childPolicyConfigTargetFieldName": "backend"`

func TestParseConfig(t *testing.T) {
	for text, want := range map[string]lbConfig{
		config(goodKeys+`, "cacheSizeBytes": 7`, goodChild):             {timeout: 10 * time.Second, maxAge: 5 * time.Minute, cacheSize: 7},
		config(goodKeys+`, "cacheSizeBytes": "99999999999"`, goodChild): {timeout: 10 * time.Second, maxAge: 5 * time.Minute, cacheSize: 5 << 20},
		config(goodKeys+`, "cacheSizeBytes": 1, "more": 1`, goodChild):  {timeout: 10 * time.Second, maxAge: 5 * time.Minute, cacheSize: 1},
		config(goodKeys+`, "cacheSizeBytes": 1, "maxAge": "3600s", "staleAge": "299s", "lookupServiceTimeout": "1.5s", "defaultTarget": "d"`, goodChild): {
			timeout: 1500 * time.Millisecond, maxAge: 5 * time.Minute, staleAge: 299 * time.Second, cacheSize: 1, defaultTarget: "d",
		},
		config(goodKeys+`, "cacheSizeBytes": 1, "maxAge": "60s", "staleAge": "60s"`, goodChild+`, "routeLookupChannelServiceConfig": {"loadBalancingConfig": [{"pick_first": {}}]}`): {
			timeout: 10 * time.Second, maxAge: time.Minute, cacheSize: 1, serviceConfig: `{"loadBalancingConfig": [{"pick_first": {}}]}`,
		},
	} {
		parsed, err := builder{}.ParseConfig(json.RawMessage(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got := parsed.(*lbConfig)
		if got.timeout != want.timeout || got.maxAge != want.maxAge || got.staleAge != want.staleAge || got.cacheSize != want.cacheSize ||
			got.defaultTarget != want.defaultTarget || got.serviceConfig != want.serviceConfig || got.lookupService != "l" || got.policy.Name() != childName {
			t.Errorf("%s: %+v", text, got)
		}
	}
}

func TestBadConfigs(t *testing.T) {
	key := func(builder string) string {
		return config(`"lookupService": "l", "cacheSizeBytes": 1, "grpcKeybuilders": [`+builder+`]`, goodChild)
	}
	for text, want := range map[string]string{
		"": "json", "{}": "RouteLookupConfig", config("", goodChild): "GrpcKeyBuilder", key(""): "GrpcKeyBuilder",
		key(`{}`):                           "any Name",
		key(`{"names": [{"method": "m"}]}`): "no Service",
		key(`{"names": [{"service": "s"}, {"service": "s"}]}`):                                                                   "repeated Name",
		key(`{"names": [{"service": "s", "method": "a/b"}]}`):                                                                    "slash",
		key(`{"names": [{"service": "s"}], "headers": [{"names": ["h"]}]}`):                                                      "without a key",
		key(`{"names": [{"service": "s"}], "headers": [{"key": "k", "names": [""]}]}`):                                           "without a name",
		key(`{"names": [{"service": "s"}], "headers": [{"key": "k", "names": ["h"], "requiredMatch": true}]}`):                   "required_match",
		key(`{"names": [{"service": "s"}], "headers": [{"key": "k", "names": ["h"]}], "constantKeys": {"k": "v"}}`):              "repeated key",
		key(`{"names": [{"service": "s"}], "constantKeys": {"": "v"}}`):                                                          "without a key",
		key(`{"names": [{"service": "s"}], "extraKeys": {"host": "k", "method": "k"}}`):                                          "repeated key",
		config(`"grpcKeybuilders": [{"names": [{"service": "s"}]}], "cacheSizeBytes": 1`, goodChild):                             "empty lookup_service",
		config(`"grpcKeybuilders": [{"names": [{"service": "s"}]}], "lookupService": "no:///l", "cacheSizeBytes": 1`, goodChild): "unregistered scheme",
		config(goodKeys, goodChild):                                                                                                                    "cache_size_bytes",
		config(goodKeys+`, "cacheSizeBytes": -1`, goodChild):                                                                                           "cache_size_bytes",
		config(goodKeys+`, "cacheSizeBytes": 1, "staleAge": "1s"`, goodChild):                                                                          "stale_age",
		config(goodKeys+`, "cacheSizeBytes": 1, "maxAge": "-1s"`, goodChild):                                                                           "max_age",
		config(goodKeys+`, "cacheSizeBytes": 1, "lookupServiceTimeout": "x"`, goodChild):                                                               "Duration",
		config(goodKeys+`, "cacheSizeBytes": 1`, `, "childPolicyConfigTargetFieldName": "t"`):                                                          "no supported policies",
		config(goodKeys+`, "cacheSizeBytes": 1`, `, "childPolicyConfigTargetFieldName": "t", "childPolicy": [{"no": {}}]`):                             "no supported policies",
		config(goodKeys+`, "cacheSizeBytes": 1`, `, "childPolicyConfigTargetFieldName": "t", "childPolicy": [{}]`):                                     "names",
		config(goodKeys+`, "cacheSizeBytes": 1`, `, "childPolicy": [{"rls_test_child": {}}]`):                                                          "TargetFieldName",
		config(goodKeys+`, "cacheSizeBytes": 1`, `, "childPolicyConfigTargetFieldName": "more", "childPolicy": [{"rls_test_child": {}}]`):              "validation failed",
		config(goodKeys+`, "cacheSizeBytes": 1`, goodChild+`, "routeLookupChannelServiceConfig": {"loadBalancingConfig": [{"no": {}}]}`):               "control channel",
		config(goodKeys+`, "cacheSizeBytes": 1`, goodChild+`, "routeLookupChannelServiceConfig": {"methodConfig": [{"name": [{}], "timeout": "5x"}]}`): "control channel",
	} {
		_, err := builder{}.ParseConfig(json.RawMessage(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q in it", text, err, want)
		}
	}
}

func FuzzParseConfig(f *testing.F) {
	f.Add(config(goodKeys+`, "cacheSizeBytes": 7, "maxAge": "60s", "staleAge": "1.5s", "defaultTarget": "d"`, goodChild))
	f.Add(config(`"lookupService": "l", "cacheSizeBytes": 1, "grpcKeybuilders": [{"names": [{"service": "s", "method": "m"}],
		"headers": [{"key": "k", "names": ["h"]}], "extraKeys": {"host": "host"}, "constantKeys": {"c": "v"}}]`, goodChild))
	f.Fuzz(func(t *testing.T, text string) {
		parsed, err := builder{}.ParseConfig(json.RawMessage(text))
		if err != nil {
			return
		}
		c := parsed.(*lbConfig)
		if c.lookupService == "" || c.policy == nil || c.timeout <= 0 || c.maxAge <= 0 || c.cacheSize <= 0 {
			t.Errorf("%+v", c)
		}
		_, _ = c.child("target")
	})
}
