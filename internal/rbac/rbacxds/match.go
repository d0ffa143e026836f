// SPDX-License-Identifier: Apache-2.0

package rbacxds

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	corepb "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routepb "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	matcherpb "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"

	"google.golang.org/grpc/internal/rbac"
)

func parseString(m *matcherpb.StringMatcher) (text rbac.Text, err error) {
	switch p := m.GetMatchPattern().(type) {
	case *matcherpb.StringMatcher_Exact:
		text = rbac.Exact(p.Exact)
	case *matcherpb.StringMatcher_Prefix:
		text, err = rbac.Prefix(p.Prefix), notEmpty(p.Prefix, "prefix")
	case *matcherpb.StringMatcher_Suffix:
		text, err = rbac.Suffix(p.Suffix), notEmpty(p.Suffix, "suffix")
	case *matcherpb.StringMatcher_Contains:
		text, err = rbac.Contains(p.Contains), notEmpty(p.Contains, "contains")
	case *matcherpb.StringMatcher_SafeRegex:
		text, err = rbac.Regex(p.SafeRegex.GetRegex())
	default:
		err = fmt.Errorf("%T is not supported", m.GetMatchPattern())
	}
	if m.GetIgnoreCase() {
		text = text.IgnoringCase()
	}
	return text, err
}

// notEmpty rejects the empty string, as Envoy does.
func notEmpty(s, what string) error {
	if s == "" {
		return fmt.Errorf("%s is empty", what)
	}
	return nil
}

func parsePath(m *matcherpb.PathMatcher) (rbac.Matcher, error) {
	text, err := parseString(m.GetPath())
	return rbac.Path(text), within("url_path.path: ", err)
}

func parseRange(m *corepb.CidrRange) (netip.Prefix, error) {
	addr, err := netip.ParseAddr(m.GetAddressPrefix())
	if err != nil {
		return netip.Prefix{}, err
	}
	in := netip.PrefixFrom(addr, int(min(m.GetPrefixLen().GetValue(), 255)))
	if !in.IsValid() {
		return netip.Prefix{}, fmt.Errorf("%s has no %d bits", addr, m.GetPrefixLen().GetValue())
	}
	// Request addresses are IPv4 where possible, and an IPv6 prefix contains no IPv4
	// address.
	if addr.Is4In6() && in.Bits() >= 96 {
		in = netip.PrefixFrom(addr.Unmap(), in.Bits()-96)
	}
	return in, nil
}

func parseHeader(m *routepb.HeaderMatcher) (rbac.Matcher, error) {
	h, err := headerMatch(m)
	if err != nil {
		return nil, fmt.Errorf("header %q: %w", m.GetName(), err)
	}
	return rbac.Header(h), nil
}

func headerMatch(m *routepb.HeaderMatcher) (rbac.HeaderMatch, error) {
	name := strings.ToLower(m.GetName())
	h := rbac.HeaderMatch{Name: name, Invert: m.GetInvertMatch(), MissingAsEmpty: m.GetTreatMissingHeaderAsEmpty(), Encoded: true}
	if name == "" {
		return h, errors.New("the name is empty")
	}
	if name == ":scheme" || strings.HasPrefix(name, "grpc-") {
		return h, errors.New("not to be matched (gRFC A41)")
	}
	var text rbac.Text
	var err error
	//nolint:staticcheck // the deprecated ones are what control planes still send
	switch s := m.GetHeaderMatchSpecifier().(type) {
	case *routepb.HeaderMatcher_PresentMatch:
		h.Present = &s.PresentMatch
	case nil: // Envoy: "match will default to present_match"
		present := true
		h.Present = &present
	case *routepb.HeaderMatcher_RangeMatch:
		h.Range = &rbac.Range{Start: s.RangeMatch.GetStart(), End: s.RangeMatch.GetEnd()}
		if h.Range.Start > h.Range.End {
			err = fmt.Errorf("range_match from %d to %d", h.Range.Start, h.Range.End)
		}
	case *routepb.HeaderMatcher_StringMatch:
		text, err = parseString(s.StringMatch)
	case *routepb.HeaderMatcher_ExactMatch:
		text = rbac.Exact(s.ExactMatch)
	case *routepb.HeaderMatcher_PrefixMatch:
		text, err = rbac.Prefix(s.PrefixMatch), notEmpty(s.PrefixMatch, "prefix")
	case *routepb.HeaderMatcher_SuffixMatch:
		text, err = rbac.Suffix(s.SuffixMatch), notEmpty(s.SuffixMatch, "suffix")
	case *routepb.HeaderMatcher_ContainsMatch:
		text, err = rbac.Contains(s.ContainsMatch), notEmpty(s.ContainsMatch, "contains")
	case *routepb.HeaderMatcher_SafeRegexMatch:
		text, err = rbac.Regex(s.SafeRegexMatch.GetRegex())
	default:
		err = fmt.Errorf("%T is not supported", s)
	}
	if err == nil && h.Present != nil && h.MissingAsEmpty {
		err = errors.New("treat_missing_header_as_empty contradicts present_match")
	}
	h.Value = &text
	return h, err
}

// parsePorts returns a matcher for the ports from from to to, including from and excluding
// to.
func parsePorts(from, to int64) (rbac.Matcher, error) {
	const ports = 1 << 16
	if from < 0 || from >= to || to > ports {
		return nil, fmt.Errorf("there is no port from %d up to, and without, %d", from, to)
	}
	return rbac.DestinationPort(int(from), int(to)), nil
}

func within(field string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s%w", field, err)
}
