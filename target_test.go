// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"strings"
	"testing"

	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/resolver/manual"
)

func TestFindResolver(t *testing.T) {
	own := manual.NewBuilderWithScheme("own")
	for _, tt := range []struct{ target, scheme, want, authority string }{
		{"host:80", "dns", "dns:///host:80", "host:80"},
		{"host:80", "passthrough", "passthrough:///host:80", "host:80"},
		{"host", "dns", "dns:///host", "host"},
		{"1.2.3.4:80", "dns", "dns:///1.2.3.4:80", "1.2.3.4:80"},
		{"[::1]:80", "dns", "dns:///[::1]:80", "[::1]:80"},
		{":80", "dns", "dns:///:80", "localhost:80"},
		{"dns:host:80", "passthrough", "dns:///host:80", "host:80"},
		{"dns://8.8.8.8/host", "passthrough", "dns://8.8.8.8/host", "host"},
		{"DNS:///host", "passthrough", "dns:///host", "host"},
		{"unix:///a/b", "dns", "unix:///a/b", "localhost"},
		{"unix:a", "dns", "unix:///a", "localhost"},
		{"unix-abstract:a", "dns", "unix-abstract:///a", "localhost"},
		{"own:///x/y", "dns", "own:///x/y", "x%2Fy"},
		{"other:///x", "dns", "dns:///other:///x", "other:%2F%2F%2Fx"},
		{"", "dns", "dns:///", ""},
	} {
		cc, err := newChannel(tt.target, tt.scheme, optionsOf(WithResolvers(own), WithTransportCredentials(insecure.NewCredentials())))
		if err != nil {
			t.Errorf("%q: %v", tt.target, err)
			continue
		}
		if got := cc.CanonicalTarget(); got != tt.want || cc.authority != tt.authority || cc.Target() != tt.target {
			t.Errorf("%q: %q with authority %q, want %q with %q", tt.target, got, cc.authority, tt.want, tt.authority)
		}
		cc.Close()
	}
	for _, target := range []string{"dns:///%zz", "a\x00b"} {
		if _, err := NewClient(target, WithTransportCredentials(insecure.NewCredentials())); err == nil {
			t.Errorf("%q: no error", target)
		}
	}
}

func optionsOf(opts ...DialOption) *dialOptions {
	o := newDialOptions(opts)
	return &o
}

func TestParseServiceConfig(t *testing.T) {
	for _, tt := range []struct{ js, policy, err string }{
		{`{}`, "pick_first", ""},
		{`{"loadBalancingPolicy":"round_robin"}`, "round_robin", ""},
		{`{"loadBalancingPolicy":"nobody knows"}`, "pick_first", ""},
		{`{"loadBalancingConfig":[{"nobody":{}},{"round_robin":{}}]}`, "round_robin", ""},
		{`{"loadBalancingConfig":[{"pick_first":{"shuffleAddressList":true}}]}`, "pick_first", ""},
		{`{"loadBalancingConfig":[{"nobody":{}}]}`, "", "nobody"},
		{`{"loadBalancingConfig":[]}`, "", "empty"},
		{`{"loadBalancingConfig":[{"pick_first":{"shuffleAddressList":3}}]}`, "", "pick_first"},
		{`{"methodConfig":[{"name":[{"service":"a"},{"service":"a"}]}]}`, "", "twice"},
		{`{`, "", "unexpected end of JSON input"},
	} {
		r := parseServiceConfig(tt.js)
		if tt.err != "" {
			if r.Err == nil || !strings.Contains(r.Err.Error(), tt.err) {
				t.Errorf("%s: %v, want %q in the error", tt.js, r.Err, tt.err)
			}
			continue
		}
		if r.Err != nil {
			t.Errorf("%s: %v", tt.js, r.Err)
			continue
		}
		if got := r.Config.(*ServiceConfig).balancerConfig().Child.Name(); got != tt.policy {
			t.Errorf("%s: %s, want %s", tt.js, got, tt.policy)
		}
	}
}
