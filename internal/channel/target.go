// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"fmt"
	"net/url"
	"strings"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/internal/resolver/dns"
	"google.golang.org/grpc/internal/resolver/passthrough"
	_ "google.golang.org/grpc/internal/resolver/unix" // registers unix and unix-abstract
	"google.golang.org/grpc/resolver"
)

func init() {
	resolver.Register(dns.NewBuilder())
	resolver.Register(passthrough.Builder{})
}

// findResolver parses a target and finds its resolver. If no resolver has the target's scheme, as
// for "host:80", the target is taken as one of the default scheme. full is the text that parsed was
// parsed from.
func findResolver(target, defaultScheme string, own []resolver.Builder) (full string, parsed resolver.Target, b resolver.Builder, err error) {
	if parsed, err = parseTarget(target); err == nil {
		if b = resolverFor(parsed.URL.Scheme, own); b != nil {
			return target, parsed, b, nil
		}
	}
	full = defaultScheme + ":///" + target
	if parsed, err = parseTarget(full); err != nil {
		return "", resolver.Target{}, nil, err
	}
	if b = resolverFor(parsed.URL.Scheme, own); b == nil {
		return "", resolver.Target{}, nil, fmt.Errorf("grpc: target %q: no resolver for the default scheme %q", target, parsed.URL.Scheme)
	}
	return full, parsed, b, nil
}

func parseTarget(target string) (resolver.Target, error) {
	u, err := url.Parse(target)
	if err != nil {
		return resolver.Target{}, err
	}
	return resolver.Target{URL: *u}, nil
}

func resolverFor(name string, own []resolver.Builder) resolver.Builder {
	for _, b := range own {
		if b.Scheme() == name {
			return b
		}
	}
	return resolver.Get(name)
}

// Target is what a channel connects to. It does not change once a channel has it.
type Target struct {
	Name      string // as the program gave it
	full      string // what Parsed parses: Name, or Name with the default scheme
	authority string
	named     bool // the program has set the authority, so an address's ServerName does not replace it
	builder   resolver.Builder
}

// FindTarget parses a target and finds its resolver, in own or among the registered ones. If no
// resolver has the target's scheme, the target is taken as one of the default scheme.
func FindTarget(name, defaultScheme string, own []resolver.Builder) (Target, error) {
	full, _, b, err := findResolver(name, defaultScheme, own)
	return Target{Name: name, full: full, builder: b}, err
}

// Parsed returns the parsed target. It parses it each time, as the result is large and seldom
// needed.
func (t *Target) Parsed() resolver.Target {
	parsed, _ := parseTarget(t.full) // no error: FindTarget has parsed the same text
	return parsed
}

// CanonicalTarget returns the target in full, "scheme://authority/endpoint".
func (t *Target) CanonicalTarget() string {
	parsed := t.Parsed()
	return parsed.String()
}

// Authority returns the :authority of RPCs, unless an address or an option sets another.
func (t *Target) Authority() string { return t.authority }

// SettleAuthority sets the authority of RPCs to own, which is the program's, or else to that of the
// credentials, of the resolver, or of the target, in this order. It fails if own and the
// credentials' authority differ.
func (t *Target) SettleAuthority(own string, creds credentials.TransportCredentials) error {
	fromCreds := ""
	if creds != nil {
		//lint:ignore SA1019 credentials may still carry a name
		fromCreds = creds.Info().ServerName
	}
	if fromCreds != "" && own != "" && fromCreds != own {
		return fmt.Errorf("ClientConn's authority from transport creds %q and dial option %q don't match", fromCreds, own)
	}
	t.authority, t.named = own, own != ""
	if t.authority == "" {
		t.authority = fromCreds
	}
	if t.authority == "" {
		t.authority = ownAuthority(t.Parsed(), t.builder)
	}
	return nil
}

func ownAuthority(t resolver.Target, b resolver.Builder) string {
	if by, ok := b.(resolver.AuthorityOverrider); ok {
		return by.OverrideAuthority(t)
	}
	endpoint := t.Endpoint()
	if strings.HasPrefix(endpoint, ":") {
		return "localhost" + escapeAuthority(endpoint)
	}
	return escapeAuthority(endpoint)
}

// escapeAuthority percent-encodes the bytes that RFC 3986, section 3.2, does not allow in an
// authority.
func escapeAuthority(s string) string {
	const hex = "0123456789ABCDEF"
	var out []byte
	for i := range len(s) {
		c := s[i]
		if inAuthority(c) {
			if out != nil {
				out = append(out, c)
			}
			continue
		}
		if out == nil {
			out = append(make([]byte, 0, len(s)+8), s[:i]...)
		}
		out = append(out, '%', hex[c>>4], hex[c&15])
	}
	if out == nil {
		return s
	}
	return string(out)
}

func inAuthority(c byte) bool {
	if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' {
		return true
	}
	return strings.IndexByte("-_.~!$&'()*+,;=:[]@", c) >= 0
}
