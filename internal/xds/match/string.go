// SPDX-License-Identifier: Apache-2.0

// Package match has the matchers that xDS resources consist of: for strings (gRFC A63), headers and
// paths (A28), and shares of requests. They are parsed once into values that never change. Matching
// allocates nothing.
package match

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"

	"google.golang.org/grpc/internal/regex"
)

// stringKind says how a String compares text.
type stringKind uint8

const (
	exact stringKind = iota
	prefix
	suffix
	contains
	pattern
)

// String matches text. The zero value matches only the empty string.
type String struct {
	kind   stringKind
	folded bool
	text   string
	re     *regexp.Regexp
}

// Exact returns a matcher that matches only text.
func Exact(text string) String { return String{text: text} }

// ParseString converts Envoy's matcher. Case always counts in regular expressions, whatever ignore_case
// says (A63).
func ParseString(m *matcherv3.StringMatcher) (String, error) {
	folded := m.GetIgnoreCase()
	switch p := m.GetMatchPattern().(type) {
	case *matcherv3.StringMatcher_Exact:
		return String{kind: exact, text: p.Exact, folded: folded}, nil
	case *matcherv3.StringMatcher_Prefix:
		return nonEmpty(String{kind: prefix, text: p.Prefix, folded: folded}, "prefix")
	case *matcherv3.StringMatcher_Suffix:
		return nonEmpty(String{kind: suffix, text: p.Suffix, folded: folded}, "suffix")
	case *matcherv3.StringMatcher_Contains:
		return nonEmpty(String{kind: contains, text: p.Contains, folded: folded}, "contains")
	case *matcherv3.StringMatcher_SafeRegex:
		s, err := Regex(p.SafeRegex.GetRegex())
		if err != nil {
			return String{}, fmt.Errorf("safe_regex: %w", err)
		}
		return s, nil
	default:
		return String{}, fmt.Errorf("match_pattern of type %T is not supported", p)
	}
}

func nonEmpty(s String, field string) (String, error) {
	if s.text == "" {
		return String{}, fmt.Errorf("%s is empty", field)
	}
	return s, nil
}

// Regex returns a matcher for texts that the regular expression matches as a whole. It fails if the
// expression exceeds the limits of package regex.
func Regex(expr string) (String, error) {
	re, err := regex.Whole(expr)
	if err != nil {
		return String{}, err
	}
	return String{kind: pattern, text: expr, re: re}, nil
}

// Match reports whether s matches.
func (m *String) Match(s string) bool {
	switch m.kind {
	case prefix:
		return len(s) >= len(m.text) && m.same(s[:len(m.text)])
	case suffix:
		return len(s) >= len(m.text) && m.same(s[len(s)-len(m.text):])
	case contains:
		return m.in(s)
	case pattern:
		return m.re.MatchString(s)
	default:
		return m.same(s)
	}
}

// ExactText returns the text if it is the only one that matches, apart from case.
func (m *String) ExactText() (text string, ok bool) { return m.text, m.kind == exact }

func (m *String) same(s string) bool {
	if m.folded {
		return foldEqual(s, m.text)
	}
	return s == m.text
}

func (m *String) in(s string) bool {
	if !m.folded {
		return strings.Contains(s, m.text)
	}
	for i := 0; i+len(m.text) <= len(s); i++ {
		if foldEqual(s[i:i+len(m.text)], m.text) {
			return true
		}
	}
	return false
}

// Equal reports whether two matchers match the same texts for the same reason.
func (m String) Equal(o String) bool {
	return m.kind == o.kind && m.folded == o.folded && m.text == o.text
}

// String returns a description for messages.
func (m String) String() string {
	name := [...]string{"exact", "prefix", "suffix", "contains", "regex"}[m.kind]
	if m.folded {
		name += " (any case)"
	}
	return fmt.Sprintf("%s %q", name, m.text)
}

// foldEqual compares two texts and ignores the case of ASCII letters.
func foldEqual(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if lower(a[i]) != lower(b[i]) {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

var errNoSpecifier = errors.New("no header_match_specifier, or one that is not supported")
