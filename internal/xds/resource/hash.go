// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"errors"
	"regexp"
	"strings"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"google.golang.org/grpc/internal/regex"
)

// HashPolicy is a part of the hash that ring_hash goes by (A42).
type HashPolicy struct {
	// Header is the name of the header that is hashed; if it is empty, the channel's number is.
	Header string
	// Terminal ends the list if there is a hash by then.
	Terminal bool
	// rewrite, if it is there, replaces what it matches in the value.
	rewrite *regexp.Regexp
	by      string
}

// channelID is the key of filter state that gRPC knows.
const channelID = "io.grpc.channel_id"

// readHashPolicies leaves out the kinds that gRPC does not know: they would give no hash.
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

// goTemplate turns "\1" into "${1}", and has dollar signs mean themselves.
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
