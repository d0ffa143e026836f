// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	_ "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	_ "google.golang.org/grpc/balancer/rls"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/xds/match"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
)

func newRoutes() proto.Message { return &routev3.RouteConfiguration{} }

// host is a virtual host for every domain.
func host(fields string) string { return `virtual_hosts { domains: "*" ` + fields + ` }` }

// to is a route for every path, with an action of fields.
func to(action string) string {
	return host(`routes { match { prefix: "" } route { ` + action + ` } }`)
}

// matching is a route with a match of fields.
func matching(fields string) string {
	return host(`routes { match { ` + fields + ` } route { cluster: "c" } }`)
}

func parseRoutes(t *testing.T, c *Context, text string) *RouteConfig {
	t.Helper()
	out, err := ParseRouteConfig(c, raw(t, newRoutes(), text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return out
}

// first returns the first route, nil if it was left out.
func first(t *testing.T, c *Context, text string) *Route {
	t.Helper()
	r := parseRoutes(t, c, text).VirtualHosts[0].Routes
	if len(r) == 0 {
		return nil
	}
	return &r[0]
}

func TestA28Routes(t *testing.T) {
	if r := first(t, plain(t), to(`cluster: "c"`)); r.Action != Forward || r.Clusters[0].Name != "c" {
		t.Errorf("%+v", r)
	}
	r := first(t, plain(t), to(`weighted_clusters { clusters { name: "a" weight { value: 1 } } clusters { name: "zero" } clusters { name: "b" weight { value: 3 } } }`))
	var got []string
	for roll := range uint32(4) {
		got = append(got, r.Cluster(&Request{Rand: func(n uint32) uint32 {
			if n != 4 {
				t.Errorf("of %d", n)
			}
			return roll
		}}).Name)
	}
	if strings.Join(got, "") != "abbb" {
		t.Error(got)
	}
	// Left out: what can never match, and what forwards in a way that is not known.
	for _, text := range []string{to(`cluster_header: "x"`), to(``), matching(`prefix: "" query_parameters { name: "x" }`)} {
		if r := first(t, plain(t), text); r != nil {
			t.Errorf("%s: %+v", text, r)
		}
	}
	if r := first(t, plain(t), host(`routes { match { prefix: "" } redirect {} }`)); r.Action != Unsupported {
		t.Errorf("%+v", r)
	}
	// No cluster at all fails the requests that match it.
	if r := first(t, plain(t), to(`cluster: ""`)); r == nil || r.Action != Unsupported {
		t.Errorf("%+v", r)
	}
	const route = "virtual_hosts[0].routes[0]"
	checkBad(t, newRoutes, ParseRouteConfig, []bad{
		{host(`routes { route { cluster: "c" } }`), route + ".match: missing"},
		{matching(``), route + ".match: path_specifier is missing"},
		{matching(`connect_matcher {}`), route + ".match: path_specifier"},
		{matching(`safe_regex { regex: "(" }`), route + ".match: safe_regex"},
		{matching(`prefix: "" headers { name: "a" }`), route + ".match.headers[0]"},
		{matching(`prefix: "" headers { name: "a" exact_match: "" } headers { name: "b" range_match { start: 2 end: 1 } }`), route + ".match.headers[1]"},
		{matching(`prefix: "" runtime_fraction { default_value { denominator: 9 } }`), route + ".match.runtime_fraction.default_value"},
		{to(`weighted_clusters {}`), route + ".route.weighted_clusters.clusters: none"},
		{to(`weighted_clusters { clusters { name: "a" } }`), "none has a weight"},
		{to(`weighted_clusters { clusters { weight { value: 1 } } }`), "weighted_clusters.clusters[0]: name is empty"},
		{to(`weighted_clusters { clusters { name: "a" weight { value: 4294967295 } } clusters { name: "b" weight { value: 1 } } }`), "sum of weights"},
		{`virtual_hosts { domains: "a*b" }`, "virtual_hosts[0].domains[0]"},
		{`virtual_hosts { domains: "a" domains: "*b*" }`, "virtual_hosts[0].domains[1]"},
		{`virtual_hosts { domains: "" }`, "virtual_hosts[0].domains[0]"},
	})
}

func TestA28VirtualHosts(t *testing.T) {
	rc := parseRoutes(t, plain(t), `
		virtual_hosts { name: "0" domains: "*" }
		virtual_hosts { name: "1" domains: "foo.*" domains: "*.com" }
		virtual_hosts { name: "2" domains: "foo.bar.*" domains: "*.bar.com" }
		virtual_hosts { name: "3" domains: "Foo.Bar.Com" }
		virtual_hosts { name: "4" domains: "foo.bar.com" domains: "*.bar.com" }`)
	for name, want := range map[string]int{
		"x": 0, "": 0, "a.com": 1, ".com": 0, "com": 0, "a.bar.com": 2, "foo.x": 1, "FOO.BAR.x": 2, "foo.bar.com": 3, "foo.com": 1, "foo.": 0, ".bar.com": 1,
	} {
		if got := rc.VirtualHost(name); got != &rc.VirtualHosts[want] {
			t.Errorf("%q: %v", name, got.Domains)
		}
	}
	if (&RouteConfig{VirtualHosts: []VirtualHost{{Domains: []string{"a"}}}}).VirtualHost("b") != nil {
		t.Error("a host for another name")
	}
}

func TestA28Matching(t *testing.T) {
	vh := &parseRoutes(t, plain(t), host(`
		routes { match { path: "/s/header" headers { name: "a" exact_match: "1" } headers { name: "b" present_match: true invert_match: true } } route { cluster: "0" } }
		routes { match { path: "/s/header" headers { name: "list" exact_match: "1,2" } } route { cluster: "1" } }
		routes { match { path: "/s/header" headers { name: "content-type" exact_match: "application/grpc" } headers { name: "x-bin" present_match: true invert_match: true } } route { cluster: "2" } }
		routes { match { prefix: "/s/share" runtime_fraction { default_value { numerator: 30 } } } route { cluster: "3" } }
		routes { match { prefix: "/" } route { cluster: "4" } }`)).VirtualHosts[0]
	for _, tt := range []struct {
		path string
		md   metadata.MD
		roll uint32
		want string
	}{
		{"/s/header", metadata.Pairs("a", "1"), 0, "0"},
		{"/s/header", metadata.Pairs("a", "1", "b", ""), 0, "2"},
		{"/s/header", metadata.Pairs("list", "1", "list", "2"), 0, "1"},
		{"/s/header", metadata.Pairs("x-bin", "1"), 0, "2"},
		{"/s/share/x", nil, 299_999, "3"},
		{"/s/share/x", nil, 300_000, "4"},
		{"none", nil, 0, ""},
	} {
		r := vh.Route(&Request{Path: tt.path, Metadata: tt.md, Rand: func(uint32) uint32 { return tt.roll }})
		if got := r; (got == nil) != (tt.want == "") || got != nil && got.Clusters[0].Name != tt.want {
			t.Errorf("%+v: %+v", tt, got)
		}
	}
}

func TestA36NonForwarding(t *testing.T) {
	if r := first(t, plain(t), host(`routes { match { prefix: "" } non_forwarding_action {} }`)); r.Action != NonForwarding {
		t.Errorf("%+v", r)
	}
}

func TestA31Durations(t *testing.T) {
	for text, want := range map[string]Route{
		``:                       {},
		`max_stream_duration {}`: {},
		`max_stream_duration { max_stream_duration { seconds: 5 } }`:                                        {HasMaxDuration: true, MaxDuration: 5 * time.Second},
		`max_stream_duration { max_stream_duration { seconds: 5 } grpc_timeout_header_max { seconds: 7 } }`: {HasMaxDuration: true, MaxDuration: 7 * time.Second},
		`max_stream_duration { max_stream_duration { seconds: 5 } grpc_timeout_header_max {} }`:             {HasMaxDuration: true},
	} {
		r := first(t, plain(t), to(`cluster: "c" `+text))
		if r.HasMaxDuration != want.HasMaxDuration || r.MaxDuration != want.MaxDuration {
			t.Errorf("%s: %+v", text, r)
		}
	}
	checkBad(t, newRoutes, ParseRouteConfig, []bad{
		{to(`cluster: "c" max_stream_duration { max_stream_duration { seconds: -5 } }`), "route.max_stream_duration.max_stream_duration"},
		{to(`cluster: "c" max_stream_duration { grpc_timeout_header_max { nanos: -5 } }`), "route.max_stream_duration.grpc_timeout_header_max"},
	})
}

func TestA42HashPolicies(t *testing.T) {
	hash := func(policies string, pairs ...string) (uint64, bool) {
		r := first(t, plain(t), to(`cluster: "c" `+policies))
		return r.Hash(&Request{Metadata: metadata.Pairs(pairs...)}, 77)
	}
	const a, channel = `hash_policy { header { header_name: "A" } } `, `hash_policy { filter_state { key: "io.grpc.channel_id" } } `
	if h, ok := hash(channel); h != 77 || !ok {
		t.Error(h, ok)
	}
	for _, none := range []string{``, a, `hash_policy { cookie { name: "x" } } hash_policy { filter_state { key: "x" } } hash_policy { query_parameter { name: "x" } } hash_policy { connection_properties { source_ip: true } } hash_policy {}`} {
		if h, ok := hash(none); ok {
			t.Errorf("%s: %d", none, h)
		}
	}
	one, ok := hash(a, "a", "1")
	two, _ := hash(a, "a", "2")
	if !ok || one == two {
		t.Error("header")
	}
	both, _ := hash(a+channel, "a", "1")
	last, _ := hash(`hash_policy { header { header_name: "a" } terminal: true } `+channel, "a", "1")
	absent, _ := hash(`hash_policy { header { header_name: "a" } terminal: true } ` + channel)
	if both == one || last != one || absent != 77 {
		t.Error(both, last, absent)
	}
	rewritten, _ := hash(`hash_policy { header { header_name: "a" regex_rewrite { pattern { regex: "x(\\d)y" } substitution: "\\1" } } }`, "a", "x1y")
	if rewritten != one {
		t.Error("what is rewritten")
	}
	checkBad(t, newRoutes, ParseRouteConfig, []bad{
		{to(`cluster: "c" hash_policy { header {} }`), "route.hash_policy[0].header.header_name: empty"},
		{to(`cluster: "c" ` + a + `hash_policy { header { header_name: "a" regex_rewrite { pattern { regex: "(" } } } }`), "hash_policy[1].header.regex_rewrite.pattern"},
	})
}

func TestA44Retry(t *testing.T) {
	retry := func(fields string) string { return `retry_policy { ` + fields + ` }` }
	for text, want := range map[string]*RetryPolicy{
		`retry_on: ""`: {map[codes.Code]bool{}, 2, 25 * time.Millisecond, 250 * time.Millisecond},
		`retry_on: "5xx,reset" num_retries { value: 3 }`: {map[codes.Code]bool{}, 4, 25 * time.Millisecond, 250 * time.Millisecond},
		`retry_on: "cancelled"`:                          {map[codes.Code]bool{codes.Canceled: true}, 2, 25 * time.Millisecond, 250 * time.Millisecond},
		`retry_on: " Unavailable,internal,resource-exhausted, deadline-exceeded" num_retries { value: 9 } retry_back_off { base_interval { nanos: 1000 } max_interval { nanos: 2000 } }`: {
			map[codes.Code]bool{codes.Unavailable: true, codes.Internal: true, codes.ResourceExhausted: true, codes.DeadlineExceeded: true}, 5, time.Millisecond, time.Millisecond,
		},
		`retry_on: "internal" num_retries { value: 2 } retry_back_off { base_interval { seconds: 1 } }`: {map[codes.Code]bool{codes.Internal: true}, 3, time.Second, 10 * time.Second},
		`retry_on: "internal" retry_back_off { base_interval { seconds: 1000000000 } }`:                 {map[codes.Code]bool{codes.Internal: true}, 2, 1e9 * time.Second, math.MaxInt64},
	} {
		if r := first(t, plain(t), to(`cluster: "c" `+retry(text))); !reflect.DeepEqual(r.Retry, want) {
			t.Errorf("%s: %+v", text, r.Retry)
		}
	}
	vh := &parseRoutes(t, plain(t), host(retry(`retry_on: "internal"`)+`
		routes { match { prefix: "" } route { cluster: "c" } }
		routes { match { prefix: "" } route { cluster: "c" retry_policy { retry_on: "cancelled" } } }
		routes { match { prefix: "" } route { cluster: "c" retry_policy { retry_on: "5xx" } } }`)).VirtualHosts[0]
	if p := vh.RetryOf(&vh.Routes[2]); p != nil {
		t.Errorf("a route whose policy has no condition of gRPC's: %v", p)
	}
	if !vh.RetryOf(&vh.Routes[0]).Codes[codes.Internal] || !vh.RetryOf(&vh.Routes[1]).Codes[codes.Canceled] {
		t.Error("the wrong policy")
	}
	checkBad(t, newRoutes, ParseRouteConfig, []bad{
		{to(`cluster: "c" ` + retry(`retry_on: "internal" num_retries {}`)), "route.retry_policy.num_retries"},
		{to(`cluster: "c" ` + retry(`retry_back_off {}`)), "retry_policy.retry_back_off.base_interval: missing"},
		{to(`cluster: "c" ` + retry(`retry_back_off { base_interval {} }`)), "base_interval: is 0"},
		{to(`cluster: "c" ` + retry(`retry_back_off { base_interval { seconds: -1 } }`)), "base_interval"},
		{to(`cluster: "c" ` + retry(`retry_back_off { base_interval { seconds: 2 } max_interval { seconds: 1 } }`)), "max_interval"},
		{to(`cluster: "c" ` + retry(`retry_back_off { base_interval { seconds: 2 } max_interval {} }`)), "max_interval: is 0"},
		{host(retry(`num_retries {}`)), "virtual_hosts[0].retry_policy.num_retries"},
	})
}

func TestA81AutoHostRewrite(t *testing.T) {
	text := to(`cluster: "c" auto_host_rewrite { value: true }`)
	if !first(t, context(t), text).AutoHostRewrite || first(t, plain(t), text).AutoHostRewrite {
		t.Error("the switch does not count")
	}
	c := context(t)
	c.Server = nil
	if first(t, c, text).AutoHostRewrite {
		t.Error("a server is trusted that is not")
	}
}

func TestClusterSpecifierPlugins(t *testing.T) {
	plugin := func(name, typ, fields string) string {
		return fmt.Sprintf(`cluster_specifier_plugins { extension { name: %q typed_config { [type.googleapis.com/%s] {} } } %s } `, name, typ, fields)
	}
	const unknown = "envoy.config.listener.v3.Listener"
	// A plugin that may be ignored takes its routes with it.
	if r := first(t, plain(t), plugin("p", unknown, "is_optional: true")+to(`cluster_specifier_plugin: "p"`)); r != nil {
		t.Errorf("%+v", r)
	}
	checkBad(t, newRoutes, ParseRouteConfig, []bad{
		{plugin("p", unknown, ""), "cluster_specifier_plugins[0].extension.typed_config: no cluster specifier plugin"},
		{plugin("p", unknown, "is_optional: true") + plugin("p", unknown, "is_optional: true"), "cluster_specifier_plugins[1]: name \"p\" is there twice"},
		{to(`cluster_specifier_plugin: "p"`), `route.cluster_specifier_plugin: "p" is not in`},
	})
}

func TestA39Overrides(t *testing.T) {
	const fault = `[type.googleapis.com/envoy.extensions.filters.http.fault.v3.HTTPFault] { max_active_faults { value: %d } }`
	override := func(n int) string {
		return fmt.Sprintf(`typed_per_filter_config { key: "f" value { `+fault+` } }`, n)
	}
	vh := &parseRoutes(t, plain(t), host(override(1)+`
		routes { match { prefix: "" } `+override(2)+` route { weighted_clusters { clusters { name: "a" weight { value: 1 } `+override(3)+` } clusters { name: "b" weight { value: 1 } } } } }
		routes { match { prefix: "" } route { cluster: "c" } }`)).VirtualHosts[0]
	r := &vh.Routes[0]
	f := &Filter{Name: "f", Kind: vh.Overrides["f"].Kind}
	for i, got := range []any{OverrideOf(f, vh, &vh.Routes[1], nil), OverrideOf(f, vh, r, &r.Clusters[1]), OverrideOf(f, vh, r, &r.Clusters[0])} {
		if n := reflect.ValueOf(got).Elem().FieldByName("MaxActive").Uint(); n != uint64(i+1) {
			t.Errorf("%d: %+v", i, got)
		}
	}
	if OverrideOf(&Filter{Name: "g", Kind: f.Kind}, vh, r, nil) != nil {
		t.Error("an override for another filter")
	}
	wrap := func(fields, inner string) string {
		return host(`typed_per_filter_config { key: "f" value { [type.googleapis.com/envoy.config.route.v3.FilterConfig] { ` + fields + ` config { ` + inner + ` } } } }`)
	}
	const unknown = `[type.googleapis.com/envoy.config.listener.v3.Listener] {}`
	if got := parseRoutes(t, plain(t), wrap("is_optional: true", unknown)).VirtualHosts[0].Overrides; len(got) != 0 {
		t.Error(got)
	}
	if got := parseRoutes(t, plain(t), wrap("", fmt.Sprintf(fault, 1))).VirtualHosts[0].Overrides; len(got) != 1 {
		t.Error(got)
	}
	checkBad(t, newRoutes, ParseRouteConfig, []bad{
		{wrap("", unknown), "virtual_hosts[0].typed_per_filter_config[f]: no HTTP filter"},
		{host(`typed_per_filter_config { key: "f" value { ` + unknown + ` } }`), "typed_per_filter_config[f]"},
		{host(`typed_per_filter_config { key: "f" value { [type.googleapis.com/envoy.extensions.filters.http.router.v3.Router] {} } }`), "typed_per_filter_config[f]: the router has no overrides"},
		{host(`typed_per_filter_config { key: "f" value { [type.googleapis.com/envoy.extensions.filters.http.fault.v3.HTTPFault] { abort {} } } }`), "typed_per_filter_config[f]: abort: error_type"},
	})
}

// TestHeadersAreJoinedOnce: however many routes ask for a header of several values.
// TestContentType: a server's RPC has one; that of a client's is what is going to be sent (A28).
func TestContentType(t *testing.T) {
	for want, r := range map[string]*Request{
		"application/grpc+json": {Metadata: metadata.Pairs("content-type", "application/grpc+json")},
		"application/grpc":      {Outgoing: outgoing{"content-type": {"x"}}},
	} {
		if got, ok := r.Header("content-type"); !ok || got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got, ok := (&Request{}).Header("content-type"); !ok || got != "application/grpc" {
		t.Errorf("%q", got)
	}
}

type outgoing metadata.MD

func (o outgoing) Values(name string) []string { return o[name] }

func TestHeadersAreJoinedOnce(t *testing.T) {
	r := Request{Metadata: metadata.MD{"a": {"1", "2"}, "b": {"3", "4"}, "c": {"5"}}}
	look := func() {
		for name, want := range map[string]string{"a": "1,2", "b": "3,4", "c": "5"} {
			if got, ok := r.Header(name); !ok || got != want {
				t.Fatalf("%s is %q", name, got)
			}
		}
	}
	look()
	if n := testing.AllocsPerRun(100, look); n != 0 {
		t.Errorf("%v allocations to ask again", n)
	}
}

func TestRoutingDoesNotAllocate(t *testing.T) {
	rc := parseRoutes(t, plain(t), host(`
		routes { match { path: "/s/a" headers { name: "a" exact_match: "1" } } route { cluster: "0" } }
		routes { match { prefix: "/s/" runtime_fraction { default_value { numerator: 100 } } } route { weighted_clusters { clusters { name: "a" weight { value: 1 } } clusters { name: "b" weight { value: 3 } } } hash_policy { header { header_name: "a" } } } }`))
	md := metadata.Pairs("a", "2")
	if n := testing.AllocsPerRun(100, func() {
		req := Request{Path: "/s/a", Metadata: md}
		vh := rc.VirtualHost("some.host")
		r := vh.Route(&req)
		r.Cluster(&req)
		r.Hash(&req, 1)
		vh.RetryOf(r)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzRouteConfig(f *testing.F) {
	for _, text := range []string{
		matching(`safe_regex { regex: "a.*" } headers { name: "a" range_match { start: 1 end: 2 } }`),
		to(`weighted_clusters { clusters { name: "a" weight { value: 1 } } clusters { name: "b" weight { value: 3 } } } hash_policy { header { header_name: "a" } }`),
		to(`cluster: "c" retry_policy { retry_on: "internal" } max_stream_duration { max_stream_duration { seconds: 5 } }`),
	} {
		f.Add(raw(f, newRoutes(), text))
	}
	c := context(f)
	c.Features.PanicRecovery = false
	f.Fuzz(func(t *testing.T, b []byte) {
		rc, err := ParseRouteConfig(c, b)
		if err != nil {
			return
		}
		req := &Request{Path: "/s/m", Metadata: metadata.Pairs("a", "1")}
		vh := rc.VirtualHost("a.b")
		if vh == nil {
			return
		}
		if r := vh.Route(req); r != nil && r.Action == Forward {
			if r.Plugin == "" && r.Cluster(req).Name == "" {
				t.Error("a cluster without a name")
			}
			r.Hash(req, 1)
			if r.Fraction > match.All {
				t.Error(r.Fraction)
			}
		}
	})
}
