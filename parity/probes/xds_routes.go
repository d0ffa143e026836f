// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/grpc/parity/internal/plane"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// routed are the RPCs that a route takes or not: a method, and headers.
var routed = [][]string{
	{"/shop.Cart/Add"},
	{"/shop.Cart/Remove"},
	{"/SHOP.cart/add"},
	{"/shop.Pay/Add"},
	{"/other/x"},
	{"/shop.Cart/Add", "user", "a"},
	{"/shop.Cart/Add", "user", "A"},
	{"/shop.Cart/Add", "user", "abc"},
	{"/shop.Cart/Add", "user", "ca"},
	{"/shop.Cart/Add", "user", "a", "user", "b"},
	{"/shop.Cart/Add", "user", "a,b"},
	{"/shop.Cart/Add", "user", "5"},
	{"/shop.Cart/Add", "user", "-5"},
	{"/shop.Cart/Add", "user", "05"},
	{"/shop.Cart/Add", "user", "5.5"},
	{"/shop.Cart/Add", "user", "10"},
	{"/shop.Cart/Add", "other", "a"},
}

func regexOf(s string) *matcherv3.RegexMatcher { return &matcherv3.RegexMatcher{Regex: s} }

// pathMatches are how a route says which paths it takes.
func pathMatches() map[string]*routev3.RouteMatch {
	prefix := func(s string) *routev3.RouteMatch {
		return &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: s}}
	}
	path := func(s string) *routev3.RouteMatch {
		return &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Path{Path: s}}
	}
	regex := func(s string) *routev3.RouteMatch {
		return &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_SafeRegex{SafeRegex: regexOf(s)}}
	}
	anyCase := func(m *routev3.RouteMatch) *routev3.RouteMatch {
		m.CaseSensitive = wrapperspb.Bool(false)
		return m
	}
	fraction := func(numerator uint32, of typev3.FractionalPercent_DenominatorType) *routev3.RouteMatch {
		m := prefix("")
		m.RuntimeFraction = &corev3.RuntimeFractionalPercent{DefaultValue: &typev3.FractionalPercent{Numerator: numerator, Denominator: of}}
		return m
	}
	query := prefix("")
	query.QueryParameters = []*routev3.QueryParameterMatcher{{Name: "q"}}
	return map[string]*routev3.RouteMatch{
		"prefix empty": prefix(""), "prefix slash": prefix("/"), "prefix service": prefix("/shop.Cart/"), "prefix half": prefix("/shop"),
		"prefix without a slash": prefix("shop"), "prefix two slashes": prefix("//"), "prefix of a method": prefix("/shop.Cart/Add"),
		"prefix beyond": prefix("/shop.Cart/Add/more"), "prefix any case": anyCase(prefix("/Shop.Cart")),
		"path": path("/shop.Cart/Add"), "path empty": path(""), "path half": path("/shop.Cart"), "path without a slash": path("shop.Cart/Add"),
		"path any case": anyCase(path("/Shop.CART/ADD")), "path with three parts": path("/a/b/c"),
		"regex": regex("/shop.*"), "regex half": regex("Cart"), "regex whole": regex("/[a-z]+.Cart/Add"), "regex any case": anyCase(regex("/SHOP.*")),
		"regex empty": regex(""), "regex bad": regex("("), "regex with flags": regex("(?i)/SHOP.*"),
		"nothing": {}, "fraction 0": fraction(0, 0), "fraction 100": fraction(100, 0), "fraction 200": fraction(200, 0),
		"fraction of a million": fraction(1e6, typev3.FractionalPercent_MILLION), "query": query,
		"connect":     {PathSpecifier: &routev3.RouteMatch_ConnectMatcher_{ConnectMatcher: &routev3.RouteMatch_ConnectMatcher{}}},
		"path prefix": {PathSpecifier: &routev3.RouteMatch_PathSeparatedPrefix{PathSeparatedPrefix: "/shop.Cart"}},
	}
}

// headerMatches are what a route may want of headers.
func headerMatches() map[string]*routev3.HeaderMatcher {
	text := func(m *matcherv3.StringMatcher) *routev3.HeaderMatcher {
		return &routev3.HeaderMatcher{Name: "user", HeaderMatchSpecifier: &routev3.HeaderMatcher_StringMatch{StringMatch: m}}
	}
	exact := func(s string) *matcherv3.StringMatcher {
		return &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Exact{Exact: s}}
	}
	prefix := &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Prefix{Prefix: "a"}}
	suffix := &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Suffix{Suffix: "a"}}
	contains := &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Contains{Contains: "b"}}
	regex := &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_SafeRegex{SafeRegex: regexOf("[0-9]+")}}
	anyCase := exact("A")
	anyCase.IgnoreCase = true
	span := func(from, to int64) *routev3.HeaderMatcher {
		return &routev3.HeaderMatcher{Name: "user", HeaderMatchSpecifier: &routev3.HeaderMatcher_RangeMatch{RangeMatch: &typev3.Int64Range{Start: from, End: to}}}
	}
	present := func(is bool) *routev3.HeaderMatcher {
		return &routev3.HeaderMatcher{Name: "user", HeaderMatchSpecifier: &routev3.HeaderMatcher_PresentMatch{PresentMatch: is}}
	}
	inverted := func(m *routev3.HeaderMatcher) *routev3.HeaderMatcher {
		m.InvertMatch = true
		return m
	}
	named := func(name string, m *routev3.HeaderMatcher) *routev3.HeaderMatcher {
		m.Name = name
		return m
	}
	missing := text(exact(""))
	missing.TreatMissingHeaderAsEmpty = true
	return map[string]*routev3.HeaderMatcher{
		"exact": text(exact("a")), "exact empty": text(exact("")), "exact with a comma": text(exact("a,b")), "exact any case": text(anyCase),
		"prefix": text(prefix), "suffix": text(suffix), "contains": text(contains), "regex": text(regex),
		"range": span(-5, 10), "range empty": span(5, 5), "range reversed": span(10, -5), "present": present(true), "absent": present(false),
		"not exact": inverted(text(exact("a"))), "not prefix": inverted(text(prefix)), "not range": inverted(span(-5, 10)),
		"not present": inverted(present(true)), "not absent": inverted(present(false)), "not regex": inverted(text(regex)),
		"old exact":    {Name: "user", HeaderMatchSpecifier: &routev3.HeaderMatcher_ExactMatch{ExactMatch: "a"}},                       //nolint:staticcheck // the older way
		"old prefix":   {Name: "user", HeaderMatchSpecifier: &routev3.HeaderMatcher_PrefixMatch{PrefixMatch: "a"}},                     //nolint:staticcheck // the older way
		"old suffix":   {Name: "user", HeaderMatchSpecifier: &routev3.HeaderMatcher_SuffixMatch{SuffixMatch: "a"}},                     //nolint:staticcheck // the older way
		"old contains": {Name: "user", HeaderMatchSpecifier: &routev3.HeaderMatcher_ContainsMatch{ContainsMatch: "b"}},                 //nolint:staticcheck // the older way
		"old regex":    {Name: "user", HeaderMatchSpecifier: &routev3.HeaderMatcher_SafeRegexMatch{SafeRegexMatch: regexOf("[0-9]+")}}, //nolint:staticcheck // the older way
		"nothing":      {Name: "user"}, "no name": named("", text(exact("a"))), "missing as empty": missing,
		"name in upper case": named("USER", text(exact("a"))), "content-type": named("content-type", text(exact("application/grpc"))),
		"te": named("te", text(exact("trailers"))), "user-agent": named("user-agent", present(true)), "path": named(":path", text(exact("/shop.Cart/Add"))),
		"method": named(":method", text(exact("POST"))), "authority": named(":authority", text(exact("svc"))), "grpc-timeout": named("grpc-timeout", present(true)),
		"regex bad":  text(&matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_SafeRegex{SafeRegex: regexOf("(")}}),
		"no pattern": text(&matcherv3.StringMatcher{}),
	}
}

func printRouted(p *probe.P, s *xdsState) {
	control := plane.Start(p, s.all()...)
	cc := xdsChannel(p, control)
	for _, r := range routed {
		end := callOf(p.Context(), cc, r[0], r[1:]...)
		if strings.Contains(end, ": ") {
			p.Printf("%q %s", r, nodeText(end))
			p.Printf("%s", control.Verdict(p, "RouteConfiguration"))
			return
		}
		p.Printf("%q %s", r, end)
	}
}

// xdsRouteProbes say which RPCs a route takes.
func xdsRouteProbes() []probe.Probe {
	var out []probe.Probe
	for name, m := range pathMatches() {
		out = append(out, probe.Probe{Name: "route/path/" + name, Run: func(p *probe.P) {
			s := newXDSState(p)
			s.prepend().Match = m
			printRouted(p, s)
		}})
	}
	for name, m := range headerMatches() {
		out = append(out, probe.Probe{Name: "route/header/" + name, Run: func(p *probe.P) {
			s := newXDSState(p)
			s.prepend().Match.Headers = []*routev3.HeaderMatcher{m}
			printRouted(p, s)
		}})
	}
	for name, domains := range map[string][2][]string{
		"exact before any": {{"*"}, {"svc"}}, "suffix before any": {{"*"}, {"*vc"}}, "prefix before any": {{"*"}, {"sv*"}},
		"suffix before prefix": {{"s*"}, {"*c"}}, "the longer suffix": {{"*c"}, {"*vc"}}, "the longer prefix": {{"s*"}, {"sv*"}},
		"exact before suffix": {{"*vc"}, {"svc"}}, "none": {{"x"}, {"y"}}, "of two": {{"x", "y"}, {"z", "svc"}}, "twice": {{"svc"}, {"svc"}},
		"star in the middle": {{"*"}, {"s*c"}}, "two stars": {{"*"}, {"**"}}, "no domains": {{"*"}, {}}, "empty": {{"*"}, {""}}, "with a port": {{"*"}, {"svc:80"}},
		"a suffix that is the whole name": {{"*"}, {"*svc"}}, "a prefix that is the whole name": {{"*"}, {"svc*"}},
	} {
		out = append(out, probe.Probe{Name: "route/host/" + name, Run: func(p *probe.P) {
			s := newXDSState(p)
			s.routes.VirtualHosts = []*routev3.VirtualHost{
				{Domains: domains[0], Routes: []*routev3.Route{plane.To("a")}}, {Domains: domains[1], Routes: []*routev3.Route{plane.To("b")}},
			}
			control := plane.Start(p, s.all()...)
			end := callOf(p.Context(), xdsChannel(p, control), "/a/b")
			if strings.Contains(end, ": ") {
				end = nodeText(end)
			}
			p.Printf("%s %s", end, control.Verdict(p, "RouteConfiguration"))
		}})
	}
	return out
}
