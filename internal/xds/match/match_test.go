// SPDX-License-Identifier: Apache-2.0

package match

import (
	"strings"
	"testing"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/internal/regex"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// text makes a message of its text form.
func text[M proto.Message](t testing.TB, m M, s string) M {
	t.Helper()
	if err := prototext.Unmarshal([]byte(s), m); err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	return m
}

func TestA63Strings(t *testing.T) {
	for _, tt := range []struct {
		matcher string
		yes, no []string
	}{
		{`exact: "Ab"`, []string{"Ab"}, []string{"ab", "", "Abc"}},
		{`exact: ""`, []string{""}, []string{"a"}},
		{`exact: "Ab" ignore_case: true`, []string{"Ab", "aB", "AB"}, []string{"abc", "a"}},
		{`prefix: "Ab"`, []string{"Ab", "Abc"}, []string{"abc", "A", ""}},
		{`prefix: "Ab" ignore_case: true`, []string{"abC"}, []string{"a", "cab"}},
		{`suffix: "Ab"`, []string{"Ab", "cAb"}, []string{"cab", "Abc"}},
		{`suffix: "Ab" ignore_case: true`, []string{"cab"}, []string{"abc", "b"}},
		{`contains: "Ab"`, []string{"cAbd", "Ab"}, []string{"cabd", "A"}},
		{`contains: "Ab" ignore_case: true`, []string{"caBd", "ab"}, []string{"acb", ""}},
		{`safe_regex { regex: "a+|b" }`, []string{"aa", "b"}, []string{"ab", "", "caa", "aa\n"}},
		{`safe_regex { regex: "A" } ignore_case: true`, []string{"A"}, []string{"a"}},
		{`safe_regex { regex: "" }`, []string{""}, []string{"a"}},
	} {
		m, err := ParseString(text(t, &matcherv3.StringMatcher{}, tt.matcher))
		if err != nil {
			t.Errorf("%s: %v", tt.matcher, err)
			continue
		}
		for _, s := range tt.yes {
			if !m.Match(s) {
				t.Errorf("%v does not match %q", m, s)
			}
		}
		for _, s := range tt.no {
			if m.Match(s) {
				t.Errorf("%v matches %q", m, s)
			}
		}
	}
	for _, bad := range []string{
		``, `prefix: ""`, `suffix: ""`, `contains: ""`, `safe_regex { regex: "a(" }`, `safe_regex { regex: "a)(b" }`,
		`safe_regex { regex: "` + strings.Repeat("a", regex.MaxText+1) + `" }`,
	} {
		if m, err := ParseString(text(t, &matcherv3.StringMatcher{}, bad)); err == nil {
			t.Errorf("%.40s is accepted as %.40v", bad, m)
		}
	}
}

func TestA28Headers(t *testing.T) {
	const absent = "\x00"
	for _, tt := range []struct {
		matcher string
		yes, no []string
	}{
		{`exact_match: "a"`, []string{"a"}, []string{"b", "", absent}},
		{`exact_match: "a" invert_match: true`, []string{"b", ""}, []string{"a", absent}},
		{`prefix_match: "a"`, []string{"a", "ab"}, []string{"ba", absent}},
		{`suffix_match: "a"`, []string{"a", "ba"}, []string{"ab", absent}},
		{`contains_match: "a"`, []string{"cab"}, []string{"c", absent}},
		{`safe_regex_match { regex: "a*" }`, []string{"", "aa"}, []string{"ab", absent}},
		{`string_match { exact: "A" ignore_case: true }`, []string{"a", "A"}, []string{"b", absent}},
		{`range_match { start: -1 end: 10 }`, []string{"-1", "9"}, []string{"10", "-2", "x", "", "1.0", absent}},
		{`range_match { start: 1 end: 10 } invert_match: true`, []string{"10", "x"}, []string{"1", absent}},
		{`present_match: true`, []string{"", "a"}, []string{absent}},
		{`present_match: true invert_match: true`, []string{absent}, []string{"", "a"}},
		{`present_match: false`, []string{absent}, []string{"a"}},
		{`present_match: false invert_match: true`, []string{"a"}, []string{absent}},
	} {
		m, err := ParseHeader(text(t, &routev3.HeaderMatcher{}, `name: "X-Name" `+tt.matcher))
		if err != nil {
			t.Errorf("%s: %v", tt.matcher, err)
			continue
		}
		if m.Name() != "x-name" {
			t.Error(m.Name())
		}
		for _, s := range tt.yes {
			if !m.Match(s, s != absent) {
				t.Errorf("%v does not match %q", &m, s)
			}
		}
		for _, s := range tt.no {
			if m.Match(s, s != absent) {
				t.Errorf("%v matches %q", &m, s)
			}
		}
	}
	for _, bad := range []string{
		``, `exact_match: "a"`, `name: "a"`, `name: "a" prefix_match: ""`, `name: "a" suffix_match: ""`,
		`name: "a" contains_match: ""`, `name: "a" safe_regex_match { regex: "(" }`, `name: "a" string_match {}`, `name: "a" range_match { start: 2 end: 1 }`,
	} {
		if _, err := ParseHeader(text(t, &routev3.HeaderMatcher{}, bad)); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
}

func TestA28Paths(t *testing.T) {
	for _, tt := range []struct {
		matcher string
		yes, no []string
	}{
		{`prefix: ""`, []string{"/a/b", ""}, nil},
		{`prefix: "/a/"`, []string{"/a/b"}, []string{"/A/b", "/a"}},
		{`prefix: "/a/" case_sensitive { value: false }`, []string{"/A/b"}, []string{"/b/"}},
		{`prefix: "/a/" case_sensitive { value: true }`, nil, []string{"/A/b"}},
		{`path: "/a/b"`, []string{"/a/b"}, []string{"/a/B", "/a/bc"}},
		{`path: "/a/b" case_sensitive {}`, []string{"/A/B"}, []string{"/a/bc"}},
		{`safe_regex { regex: "/a/.*" }`, []string{"/a/b"}, []string{"x/a/b"}},
	} {
		m, err := ParsePath(text(t, &routev3.RouteMatch{}, tt.matcher))
		if err != nil {
			t.Errorf("%s: %v", tt.matcher, err)
			continue
		}
		for _, s := range tt.yes {
			if !m.Match(s) {
				t.Errorf("%v does not match %q", m, s)
			}
		}
		for _, s := range tt.no {
			if m.Match(s) {
				t.Errorf("%v matches %q", m, s)
			}
		}
	}
	for _, bad := range []string{``, `safe_regex { regex: "(" }`, `connect_matcher {}`, `path_separated_prefix: "/a"`} {
		if _, err := ParsePath(text(t, &routev3.RouteMatch{}, bad)); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
}

func TestFraction(t *testing.T) {
	for s, want := range map[string]Fraction{
		``:                                       0,
		`numerator: 30`:                          300_000,
		`numerator: 300`:                         All,
		`numerator: 1 denominator: TEN_THOUSAND`: 100,
		`numerator: 4294967295 denominator: MILLION`: All,
		`numerator: 1 denominator: MILLION`:          1,
	} {
		if got, err := ParseFraction(text(t, &typev3.FractionalPercent{}, s)); got != want || err != nil {
			t.Errorf("%s: %d, %v", s, got, err)
		}
	}
	if _, err := ParseFraction(&typev3.FractionalPercent{Denominator: 77}); err == nil {
		t.Error("an unknown denominator is accepted")
	}
	if !Fraction(1).Match(0) || Fraction(1).Match(1) || Fraction(0).Match(0) || !All.Match(999_999) {
		t.Error("the wrong requests match")
	}
}

func FuzzString(f *testing.F) {
	f.Add("a+|b", "aa")
	f.Add("(", "x")
	f.Fuzz(func(t *testing.T, expr, s string) {
		m, err := Regex(expr)
		if err == nil {
			m.Match(s)
		}
		for k := exact; k < pattern; k++ {
			plain, folded := String{kind: k, text: expr}, String{kind: k, text: expr, folded: true}
			if plain.Match(s) && !folded.Match(s) {
				t.Errorf("%v matches %q, with any case it does not", plain, s)
			}
		}
	})
}
