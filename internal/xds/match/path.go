// SPDX-License-Identifier: Apache-2.0

package match

import (
	"errors"
	"fmt"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
)

// ParsePath converts the path matcher of a route (A28).
func ParsePath(m *routev3.RouteMatch) (String, error) {
	folded := m.GetCaseSensitive() != nil && !m.GetCaseSensitive().GetValue()
	switch p := m.GetPathSpecifier().(type) {
	case *routev3.RouteMatch_Prefix:
		return String{kind: prefix, text: p.Prefix, folded: folded}, nil
	case *routev3.RouteMatch_Path:
		return String{kind: exact, text: p.Path, folded: folded}, nil
	case *routev3.RouteMatch_SafeRegex:
		s, err := Regex(p.SafeRegex.GetRegex())
		if err != nil {
			return String{}, fmt.Errorf("safe_regex: %w", err)
		}
		return s, nil
	case nil:
		return String{}, errors.New("path_specifier is missing")
	default:
		return String{}, fmt.Errorf("path_specifier of type %T is not supported", p)
	}
}

// Fraction is a share of requests in millionths.
type Fraction uint32

// All is the share of all requests.
const All Fraction = 1_000_000

// ParseFraction converts Envoy's percentage. The result is at most All.
func ParseFraction(p *typev3.FractionalPercent) (Fraction, error) {
	per := uint64(0)
	switch p.GetDenominator() {
	case typev3.FractionalPercent_HUNDRED:
		per = 10_000
	case typev3.FractionalPercent_TEN_THOUSAND:
		per = 100
	case typev3.FractionalPercent_MILLION:
		per = 1
	default:
		return 0, fmt.Errorf("denominator %v is not supported", p.GetDenominator())
	}
	return Fraction(min(uint64(p.GetNumerator())*per, uint64(All))), nil
}

// Match reports whether a request is in the share. roll is the request's random number
// below All.
func (f Fraction) Match(roll uint32) bool { return roll < uint32(f) }
