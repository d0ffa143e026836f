// SPDX-License-Identifier: Apache-2.0

package serviceconfig

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/serviceconfig"
)

const full = `{
	"loadBalancingPolicy": "round_robin",
	"loadBalancingConfig": [{"unknown": {}}, {"round_robin": {}}],
	"methodConfig": [
		{
			"name": [{"service": "pkg.S", "method": "M"}, {"service": "pkg.S", "method": "N"}],
			"waitForReady": true,
			"timeout": "1.5s",
			"maxRequestMessageBytes": 1024,
			"maxResponseMessageBytes": "2048",
			"retryPolicy": {
				"maxAttempts": 4,
				"initialBackoff": "0.1s",
				"maxBackoff": "1s",
				"backoffMultiplier": 2,
				"retryableStatusCodes": ["UNAVAILABLE", 8]
			}
		},
		{"name": [{"service": "pkg.S"}], "waitForReady": false},
		{"name": [{}], "timeout": "10s"},
		{"timeout": "20s"}
	],
	"retryThrottling": {"maxTokens": 10, "tokenRatio": 0.1},
	"healthCheckConfig": {"serviceName": ""},
	"connectionScaling": {"maxConnectionsPerSubchannel": 7},
	"ofALaterVersion": {"x": 1}
}`

func TestParse(t *testing.T) {
	got, err := Parse([]byte(full))
	if err != nil {
		t.Fatal(err)
	}
	method := MethodConfig{
		WaitForReady: new(true),
		Timeout:      new(1500 * time.Millisecond),
		MaxReqSize:   new(1024),
		MaxRespSize:  new(2048),
		RetryPolicy: &RetryPolicy{
			MaxAttempts:          4,
			InitialBackoff:       100 * time.Millisecond,
			MaxBackoff:           time.Second,
			BackoffMultiplier:    2,
			RetryableStatusCodes: map[codes.Code]bool{codes.Unavailable: true, codes.ResourceExhausted: true},
		},
	}
	service := MethodConfig{WaitForReady: new(false)}
	all := MethodConfig{Timeout: new(10 * time.Second)}
	want := &Parsed{
		Methods:             map[string]MethodConfig{"/pkg.S/M": method, "/pkg.S/N": method, "/pkg.S/": service, "": all},
		Throttling:          &RetryThrottling{MaxTokens: 10, TokenRatio: 0.1},
		HealthCheckService:  new(""),
		LoadBalancingConfig: json.RawMessage(`[{"unknown": {}}, {"round_robin": {}}]`),
		LoadBalancingPolicy: "round_robin",

		ConnectionScaling: json.RawMessage(`{"maxConnectionsPerSubchannel": 7}`),
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for path, want := range map[string]MethodConfig{
		"/pkg.S/M": method, "/pkg.S/Other": service, "/other/M": all, "": all, "nonsense": all,
	} {
		if d := cmp.Diff(want, Method(got.Methods, path)); d != "" {
			t.Errorf("%s (-want +got):\n%s", path, d)
		}
	}
}

func TestParseEmpty(t *testing.T) {
	for _, js := range []string{`{}`, `{"methodConfig": [], "loadBalancingConfig": null, "retryThrottling": null}`} {
		got, err := Parse([]byte(js))
		if d := cmp.Diff(&Parsed{Methods: map[string]MethodConfig{}}, got); d != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", js, err, d)
		}
	}
}

func TestLargeSizes(t *testing.T) {
	got, err := Parse([]byte(`{"methodConfig": [{"name": [{}], "maxRequestMessageBytes": "9223372036854775807"}]}`))
	if err != nil || *got.Methods[""].MaxReqSize != math.MaxInt {
		t.Errorf("%v, %v", got, err)
	}
}

func TestParseErrors(t *testing.T) {
	retry := func(change string) string {
		fields := map[string]json.RawMessage{}
		for _, js := range []string{
			`{"maxAttempts": 2, "initialBackoff": "1s", "maxBackoff": "1s", "backoffMultiplier": 1, "retryableStatusCodes": [1]}`, change,
		} {
			if err := json.Unmarshal([]byte(js), &fields); err != nil {
				t.Fatal(err)
			}
		}
		js, _ := json.Marshal(fields)
		return `{"methodConfig": [{"name": [{}], "retryPolicy": ` + string(js) + `}]}`
	}
	if _, err := Parse([]byte(retry(`{}`))); err != nil {
		t.Fatalf("the valid policy: %v", err)
	}
	for _, tt := range []struct{ js, want string }{
		{``, "no JSON service config provided"},
		{`[]`, "cannot unmarshal array"},
		{`{"methodConfig": [{}, {"name": [{"method": "M"}]}]}`, "methodConfig[1]"},
		{`{"methodConfig": [{"name": [{"service": "S"}, {"service": "S"}]}]}`, "duplicated name"},
		{`{"methodConfig": [{"name": [{}]}, {"name": [{}]}]}`, "duplicated name"},
		{`{"methodConfig": [{"timeout": "1"}]}`, `malformed duration "1": missing seconds unit`},
		{`{"methodConfig": [{"timeout": "s"}]}`, `malformed duration "s": contains no numbers`},
		{`{"methodConfig": [{"timeout": "0.0000000001s"}]}`, "too many digits after decimal"},
		{`{"methodConfig": [{"timeout": "1ms"}]}`, `malformed duration "1ms": want a number`},
		{`{"methodConfig": [{"timeout": "315576000001s"}]}`, `out of range: "315576000001s"`},
		{`{"methodConfig": [{"maxRequestMessageBytes": "x"}]}`, "bytes"},
		{retry(`{"maxAttempts": 1}`), "invalid retry policy (&{MaxAttempts:1 "},
		{retry(`{"maxAttempts": 2.5}`), "axAttempts"},
		{retry(`{"initialBackoff": "0s"}`), "initialBackoff"},
		{retry(`{"maxBackoff": "-1s"}`), "maxBackoff"},
		{retry(`{"backoffMultiplier": 0}`), "backoffMultiplier"},
		{retry(`{"retryableStatusCodes": []}`), "retryableStatusCodes"},
		{retry(`{"retryableStatusCodes": ["NONSENSE"]}`), "NONSENSE"},
		{`{"methodConfig": [], "retryThrottling": {"maxTokens": 0, "tokenRatio": 1}}`, "invalid retry throttling config: maxTokens"},
		{`{"methodConfig": [], "retryThrottling": {"maxTokens": 1001, "tokenRatio": 1}}`, "invalid retry throttling config: maxTokens"},
		{`{"methodConfig": [], "retryThrottling": {"maxTokens": 1, "tokenRatio": 0}}`, "invalid retry throttling config: tokenRatio"},
		{`{"methodConfig": [], "retryThrottling": {"maxTokens": 1, "tokenRatio": -1}}`, "invalid retry throttling config: tokenRatio"},
	} {
		if _, err := Parse([]byte(tt.js)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want something about %q", tt.js, err, tt.want)
		}
	}
}

// TestParseLeniently has service configs that other implementations take.
func TestParseLeniently(t *testing.T) {
	for _, js := range []string{
		`{"retryThrottling": {"maxTokens": 0, "tokenRatio": 1}}`,
		`{"retryThrottling": {"maxTokens": 1001, "tokenRatio": 1}}`,
		`{"retryThrottling": {"maxTokens": 1, "tokenRatio": -1}}`,
		`{"retryThrottling": {}}`,
	} {
		if p, err := Parse([]byte(js)); err != nil || p.Throttling != nil {
			t.Errorf("%s: %+v, %v", js, p, err)
		}
	}
	p, err := Parse([]byte(`{"methodConfig": [{"name": [{}], "maxResponseMessageBytes": -1, "timeout": "+1s"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if c := p.Methods[""]; *c.MaxRespSize != -1 || *c.Timeout != time.Second {
		t.Errorf("%+v", c)
	}
}

// FuzzParse: a service config comes from the DNS, so from anybody.
func FuzzParse(f *testing.F) {
	f.Add([]byte(full))
	f.Add([]byte(`{"methodConfig": [{"name": [{}]}]}`))
	f.Fuzz(func(t *testing.T, js []byte) {
		p, err := Parse(js)
		if err != nil {
			return
		}
		if n, err := p.MaxConnectionsPerSubchannel(); n < 0 || n > math.MaxInt32 || err != nil && n != 0 {
			t.Errorf("%d connections, error %v", n, err)
		}
		for _, m := range p.Methods {
			if r := m.RetryPolicy; r != nil && (r.MaxAttempts < 2 || r.InitialBackoff <= 0 || len(r.RetryableStatusCodes) == 0) {
				t.Errorf("an invalid policy passes: %+v", r)
			}
		}
		if p.LoadBalancingConfig != nil {
			_, _ = SelectBalancer(p.LoadBalancingConfig, func(string) (ParseBalancer, bool) { return nil, true })
		}
	})
}

type lbConfig struct {
	serviceconfig.LoadBalancingConfig
	JS string
}

func TestSelectBalancer(t *testing.T) {
	rejected := errors.New("rejected")
	lookup := func(name string) (ParseBalancer, bool) {
		switch name {
		case "plain":
			return nil, true
		case "parses":
			return func(js json.RawMessage) (serviceconfig.LoadBalancingConfig, error) {
				return lbConfig{JS: string(js)}, nil
			}, true
		case "rejects":
			return func(json.RawMessage) (serviceconfig.LoadBalancingConfig, error) { return lbConfig{}, rejected }, true
		}
		return nil, false
	}
	for _, tt := range []struct {
		list string
		want BalancerConfig
		err  string
	}{
		{`[{"plain": {}}]`, BalancerConfig{Name: "plain"}, ""},
		{`[{"unknown": 1}, {"parses": {"a": 1}}, {"rejects": {}}]`, BalancerConfig{Name: "parses", Config: lbConfig{JS: `{"a": 1}`}}, ""},
		{`[{"rejects": {}}, {"plain": {}}]`, BalancerConfig{}, "rejected"},
		{`[{"u1": {}}, {"u2": {}}]`, BalancerConfig{}, "no supported policies found in [u1 u2]"},
		{`[]`, BalancerConfig{}, "no supported policies found in []"},
		{`[{}]`, BalancerConfig{}, "index 0"},
		{`[{"plain": {}, "parses": {}}]`, BalancerConfig{}, "a JSON struct with one entry"},
		{`{}`, BalancerConfig{}, "loadBalancingConfig"},
	} {
		got, err := SelectBalancer(json.RawMessage(tt.list), lookup)
		if got != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %+v, %v; want %+v, %q", tt.list, got, err, tt.want, tt.err)
		}
	}
}
