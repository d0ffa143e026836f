// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"errors"
	"regexp"
	"strings"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"google.golang.org/grpc/internal/regex"
)

// HashPolicy is one part of the hash that ring_hash uses (A42).
type HashPolicy struct {
	// Header is the name of the header to hash. If it is empty, the hash is the channel's
	// number.
	Header string
	// Terminal ends the list of policies if there is a hash by then.
	Terminal bool
	// rewrite, if not nil, matches the parts of the value that by replaces.
	rewrite *regexp.Regexp
	by      string
}

// channelID is the only key of filter state that gRPC knows.
const channelID = "io.grpc.channel_id"

// readHashPolicies leaves out the kinds of policies that gRPC does not know: they contribute no
// hash.
func readHashPolicies(list []*routev3.RouteAction_HashPolicy) ([]HashPolicy, error) {
	var out []HashPolicy
	for i, in := range list {
		p := HashPolicy{Terminal: in.GetTerminal()}
		switch s := in.GetPolicySpecifier().(type) {
		case *routev3.RouteAction_HashPolicy_Header_:
			if err := p.readHeader(s.Header); err != nil {
				return nil, atIndex("hash_policy", i, at("header", err))
			}
		case *routev3.RouteAction_HashPolicy_FilterState_:
			if s.FilterState.GetKey() != channelID {
				continue
			}
		default:
			continue
		}
		out = append(out, p)
	}
	return out, nil
}

func (p *HashPolicy) readHeader(in *routev3.RouteAction_HashPolicy_Header) (err error) {
	if p.Header = strings.ToLower(in.GetHeaderName()); p.Header == "" {
		return at("header_name", errors.New("empty"))
	}
	if rw := in.GetRegexRewrite(); rw != nil {
		if p.rewrite, err = regex.Part(rw.GetPattern().GetRegex()); err != nil {
			return at("regex_rewrite.pattern", err)
		}
		p.by = goTemplate(rw.GetSubstitution())
	}
	return nil
}

// goTemplate converts a substitution to the syntax of package regexp: "\1" becomes "${1}", and
// dollar signs are escaped.
func goTemplate(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '$':
			b.WriteString("$$")
		case s[i] == '\\' && i+1 < len(s) && s[i+1] >= '0' && s[i+1] <= '9':
			b.WriteString("${" + s[i+1:i+2] + "}")
			i++
		case s[i] == '\\' && i+1 < len(s) && s[i+1] == '\\':
			b.WriteByte('\\')
			i++
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String()
}
