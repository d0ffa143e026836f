// SPDX-License-Identifier: Apache-2.0

package rls

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/balancer"
	lookuppb "google.golang.org/grpc/internal/proto/grpc_lookup_v1"
	"google.golang.org/grpc/metadata"
)

func TestThrottle(t *testing.T) {
	now := time.Unix(1000, 0)
	var th throttle
	for range 20 {
		if !th.allow(now, 0) {
			t.Fatal("refuses before anything failed")
		}
		th.done(now, true)
	}
	for range 20 { // half of them fail: that is still let through
		th.done(now, false)
	}
	if !th.allow(now, 0) {
		t.Error("refuses though half of the requests are accepted")
	}
	for range 40 {
		th.done(now, false)
	}
	// 80 requests, 20 accepted: (80 - 2*20) / (80 + 8)
	if th.allow(now, 0.45) || !th.allow(now, 0.47) {
		t.Error("refuses more or less than it should")
	}
	if !th.allow(now.Add(throttleWindow+time.Second), 0) {
		t.Error("remembers what is long past")
	}
}

func TestCache(t *testing.T) {
	now := time.Unix(1000, 0)
	var removed []string
	gone := func(e *answer) { removed = append(removed, e.key.path) }
	c := newCache()
	c.resize(10, now, gone)
	add := func(path string) *answer {
		e := c.add(cacheKey{path: path}, now)
		e.expires = now.Add(time.Minute)
		c.changed(e, e.size(), now, gone)
		return e
	}
	add("aaaa")
	b := add("bbbb")
	add("cccc") // too many, but all are new
	if c.len() != 3 || c.size != 12 {
		t.Errorf("%d entries, %d bytes", c.len(), c.size)
	}
	now = now.Add(minEviction)
	c.get(cacheKey{path: "aaaa"})
	add("dd")
	if diff := cmp.Diff([]string{"bbbb"}, removed); diff != "" || c.size != 10 || c.get(b.key) != nil {
		t.Errorf("%d bytes %s", c.size, diff)
	}
	// Answers that are over go, and failures that are forgotten.
	e := c.get(cacheKey{path: "aaaa"})
	e.expires = now
	failing := c.get(cacheKey{path: "cccc"})
	failing.expires, failing.err, failing.forget = now, fmt.Errorf("x"), now.Add(time.Second)
	c.purge(now, gone)
	if diff := cmp.Diff([]string{"bbbb", "aaaa"}, removed); diff != "" {
		t.Error(diff)
	}
	if c.resetBackoff(); failing.err != nil {
		t.Error("a failure is not forgotten")
	}
	c.clear(gone)
	if c.len() != 0 || c.size != 0 || c.order.Len() != 0 {
		t.Errorf("%d entries, %d bytes", c.len(), c.size)
	}
}

func TestKeys(t *testing.T) {
	builders, err := newKeyBuilders([]*lookuppb.GrpcKeyBuilder{
		{
			Names:        []*lookuppb.GrpcKeyBuilder_Name{{Service: "p.S", Method: "M"}},
			Headers:      []*lookuppb.NameMatcher{{Key: "k", Names: []string{"H1", "h2"}}, {Key: "l", Names: []string{"h3"}}},
			ExtraKeys:    &lookuppb.GrpcKeyBuilder_ExtraKeys{Host: "host", Service: "service", Method: "method"},
			ConstantKeys: map[string]string{"c": "v"},
		},
		{Names: []*lookuppb.GrpcKeyBuilder_Name{{Service: "p.S"}, {Service: "p.T"}}, Headers: []*lookuppb.NameMatcher{{Key: "k", Names: []string{"h1"}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		method string
		md     metadata.MD
		want   map[string]string
		text   string
	}{
		{"/p.S/M", metadata.Pairs("h2", "2", "h3", "a", "h3", "b"), map[string]string{"k": "2", "l": "a,b", "host": "h", "service": "p.S", "method": "M", "c": "v"}, `c=v,host=h,k=2,l=a\,b,method=M,service=p.S`},
		{"/p.S/M", metadata.Pairs("h2", "2", "h1", "1"), map[string]string{"k": "1", "host": "h", "service": "p.S", "method": "M", "c": "v"}, "c=v,host=h,k=1,method=M,service=p.S"},
		{"/p.S/N", metadata.Pairs("h1", "1"), map[string]string{"k": "1"}, "k=1"},
		{"/p.T/M", nil, map[string]string{}, ""},
		{"/p.U/M", metadata.Pairs("h1", "1"), nil, ""},
	} {
		got := builders.build(balancer.PickInfo{FullMethodName: tt.method, Ctx: metadata.NewOutgoingContext(t.Context(), tt.md)}, "h")
		if diff := cmp.Diff(tt.want, got); diff != "" || text(got) != tt.text {
			t.Errorf("%s %v: %s %s", tt.method, tt.md, text(got), diff)
		}
	}
	if text(map[string]string{"a": "b,c=d"}) == text(map[string]string{"a": "b", "c": "d"}) {
		t.Error("different keys look alike")
	}
}

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
		config(goodKeys, goodChild):                                                                                                       "cache_size_bytes",
		config(goodKeys+`, "cacheSizeBytes": -1`, goodChild):                                                                              "cache_size_bytes",
		config(goodKeys+`, "cacheSizeBytes": 1, "staleAge": "1s"`, goodChild):                                                             "stale_age",
		config(goodKeys+`, "cacheSizeBytes": 1, "maxAge": "-1s"`, goodChild):                                                              "max_age",
		config(goodKeys+`, "cacheSizeBytes": 1, "lookupServiceTimeout": "x"`, goodChild):                                                  "Duration",
		config(goodKeys+`, "cacheSizeBytes": 1`, `, "childPolicyConfigTargetFieldName": "t"`):                                             "no supported policies",
		config(goodKeys+`, "cacheSizeBytes": 1`, `, "childPolicyConfigTargetFieldName": "t", "childPolicy": [{"no": {}}]`):                "no supported policies",
		config(goodKeys+`, "cacheSizeBytes": 1`, `, "childPolicyConfigTargetFieldName": "t", "childPolicy": [{}]`):                        "names",
		config(goodKeys+`, "cacheSizeBytes": 1`, `, "childPolicy": [{"rls_test_child": {}}]`):                                             "TargetFieldName",
		config(goodKeys+`, "cacheSizeBytes": 1`, `, "childPolicyConfigTargetFieldName": "more", "childPolicy": [{"rls_test_child": {}}]`): "validation failed",
		config(goodKeys+`, "cacheSizeBytes": 1`, goodChild+`, "routeLookupChannelServiceConfig": {"loadBalancingConfig": [{"no": {}}]}`):  "control channel",
	} {
		_, err := builder{}.ParseConfig(json.RawMessage(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q in it", text, err, want)
		}
	}
}
