// SPDX-License-Identifier: Apache-2.0

// Package mutation changes the metadata of RPCs in the way that an external server asks for
// (gRFC A92, A93), within the rules that the control plane sets.
package mutation

import (
	"fmt"
	"strings"

	rulesv3 "github.com/envoyproxy/go-control-plane/envoy/config/common/mutation_rules/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/grpc/internal/xds/match"
)

// Rules say which headers may be changed. A header that disallow matches may not. If allow is
// set, only headers that it matches may, as in the published module. "host", and names that
// begin with a colon, may never be changed. The zero value allows all others.
type Rules struct {
	none            bool
	allow, disallow *match.String // nil if not set
	// fail says that a change that is not allowed fails the RPC. Otherwise it is ignored.
	fail bool
}

// ParseRules parses a message. Nil means no rules.
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

// DisallowedError is the name of a header that may not be changed, if the rules make the RPC
// fail because of that.
type DisallowedError string

// Error implements error.
func (e DisallowedError) Error() string {
	return fmt.Sprintf("the rules for header mutations do not allow %q", string(e))
}

// check reports whether a header may be changed. An error must end the RPC.
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
