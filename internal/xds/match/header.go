// SPDX-License-Identifier: Apache-2.0

package match

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
)

// headerKind says which property of a header counts.
type headerKind uint8

const (
	headerText headerKind = iota
	headerRange
	headerPresent
)

// Header matches a header by its value, or by its presence.
type Header struct {
	name       string
	kind       headerKind
	invert     bool
	present    bool // the presence that headerPresent requires
	text       String
	start, end int64 // headerRange: start <= value < end
}

// ParseHeader converts Envoy's matcher (A28, A63).
func ParseHeader(m *routev3.HeaderMatcher) (Header, error) {
	h := Header{name: strings.ToLower(m.GetName()), invert: m.GetInvertMatch()}
	if h.name == "" {
		return Header{}, errors.New("name is empty")
	}
	if err := h.read(m); err != nil {
		return Header{}, fmt.Errorf("header %q: %w", m.GetName(), err)
	}
	return h, nil
}

//nolint:staticcheck // the older fields, which A63 keeps
func (h *Header) read(m *routev3.HeaderMatcher) (err error) {
	switch s := m.GetHeaderMatchSpecifier().(type) {
	case *routev3.HeaderMatcher_ExactMatch:
		h.text = Exact(s.ExactMatch)
	case *routev3.HeaderMatcher_PrefixMatch:
		h.text, err = nonEmpty(String{kind: prefix, text: s.PrefixMatch}, "prefix_match")
	case *routev3.HeaderMatcher_SuffixMatch:
		h.text, err = nonEmpty(String{kind: suffix, text: s.SuffixMatch}, "suffix_match")
	case *routev3.HeaderMatcher_ContainsMatch:
		h.text, err = nonEmpty(String{kind: contains, text: s.ContainsMatch}, "contains_match")
	case *routev3.HeaderMatcher_SafeRegexMatch:
		if h.text, err = Regex(s.SafeRegexMatch.GetRegex()); err != nil {
			err = fmt.Errorf("safe_regex_match: %w", err)
		}
	case *routev3.HeaderMatcher_StringMatch:
		if h.text, err = ParseString(s.StringMatch); err != nil {
			err = fmt.Errorf("string_match: %w", err)
		}
	case *routev3.HeaderMatcher_RangeMatch:
		h.kind, h.start, h.end = headerRange, s.RangeMatch.GetStart(), s.RangeMatch.GetEnd()
		if h.start > h.end {
			err = fmt.Errorf("range_match from %d to %d", h.start, h.end)
		}
	case *routev3.HeaderMatcher_PresentMatch:
		h.kind, h.present = headerPresent, s.PresentMatch
	default:
		err = errNoSpecifier
	}
	return err
}

// Name returns the name of the header in lower case.
func (h *Header) Name() string { return h.name }

// Match reports whether a header matches. value is the header's value; several values are
// joined with commas. present says whether the header is there. Only present_match, inverted
// or not, can match a missing header (A41).
func (h *Header) Match(value string, present bool) bool {
	if h.kind == headerPresent {
		return (present == h.present) != h.invert
	}
	return present && h.matchValue(value) != h.invert
}

func (h *Header) matchValue(value string) bool {
	if h.kind == headerRange {
		n, err := strconv.ParseInt(value, 10, 64)
		return err == nil && n >= h.start && n < h.end
	}
	return h.text.Match(value)
}

// String returns a description for messages.
func (h *Header) String() string {
	not := ""
	if h.invert {
		not = "not "
	}
	switch h.kind {
	case headerRange:
		return fmt.Sprintf("%s: %s[%d, %d)", h.name, not, h.start, h.end)
	case headerPresent:
		return fmt.Sprintf("%s: %spresent %t", h.name, not, h.present)
	default:
		return fmt.Sprintf("%s: %s%v", h.name, not, h.text)
	}
}
