// SPDX-License-Identifier: Apache-2.0

// Package mutation changes the metadata of RPCs as servers beside them say (gRFC A92, A93), in
// the bounds of rules that the control plane sets.
package mutation

import (
	"fmt"
	"strings"

	rulesv3 "github.com/envoyproxy/go-control-plane/envoy/config/common/mutation_rules/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/grpc/internal/xds/match"
)

// Rules say which names may be changed: what disallows one counts, and an expression that allows
// names allows no others, as in the published module. The zero value allows all but those that
// nobody may change: "host", and what begins with a colon.
type Rules struct {
	none            bool
	allow, disallow *match.String // nil: not set
	// fail says that what is not allowed fails the RPC; otherwise it is left out.
	fail bool
}

// ParseRules reads a message; nil is no rules.
func ParseRules(in *rulesv3.HeaderMutationRules) (r Rules, err error) {
	if r.allow, err = parseRegex(in.GetAllowExpression()); err != nil {
		return Rules{}, fmt.Errorf("allow_expression: %w", err)
	}
	if r.disallow, err = parseRegex(in.GetDisallowExpression()); err != nil {
		return Rules{}, fmt.Errorf("disallow_expression: %w", err)
	}
	r.none, r.fail = in.GetDisallowAll().GetValue(), in.GetDisallowIsError().GetValue()
	return r, nil
}

func parseRegex(in *matcherv3.RegexMatcher) (*match.String, error) {
	if in == nil {
		return nil, nil
	}
	s, err := match.Regex(in.GetRegex())
	return &s, err
}

// DisallowedError is about a name that the rules have an RPC fail for.
type DisallowedError string

// Error implements error.
func (e DisallowedError) Error() string {
	return fmt.Sprintf("the rules for header mutations do not allow %q", string(e))
}

// check says whether a name may be changed. The error ends the RPC.
func (r *Rules) check(name string) (allowed bool, err error) {
	switch {
	case name == "host" || strings.HasPrefix(name, ":"): // never an error
		return false, nil
	case r.none, r.disallow != nil && r.disallow.Match(name), r.allow != nil && !r.allow.Match(name):
	default:
		return true, nil
	}
	if r.fail {
		return false, DisallowedError(name)
	}
	return false, nil
}
