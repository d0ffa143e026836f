// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"google.golang.org/grpc/internal/resolver/dns"
	"google.golang.org/grpc/internal/resolver/passthrough"
	_ "google.golang.org/grpc/internal/resolver/unix" // registers unix and unix-abstract
	"google.golang.org/grpc/resolver"
)

func init() {
	resolver.Register(dns.NewBuilder())
	resolver.Register(passthrough.Builder{})
}

// findResolver parses a target and finds who resolves it. A target whose scheme
// nobody knows, "host:80" among them, is taken for one of the default scheme. full is
// what the result was parsed from.
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

// authorityOf settles what RPCs are addressed to: what the program says, or what the
// resolver knows, or what the target says.
func authorityOf(o *dialOptions, t resolver.Target, b resolver.Builder) (string, error) {
	fromCreds := ""
	if o.creds != nil {
		//lint:ignore SA1019 credentials may still carry a name
		fromCreds = o.creds.Info().ServerName
	}
	if fromCreds != "" && o.authority != "" && fromCreds != o.authority {
		return "", fmt.Errorf("ClientConn's authority from transport creds %q and dial option %q don't match", fromCreds, o.authority)
	}
	switch {
	case o.authority != "":
		return o.authority, nil
	case fromCreds != "":
		return fromCreds, nil
	}
	if by, ok := b.(resolver.AuthorityOverrider); ok {
		return by.OverrideAuthority(t), nil
	}
	endpoint := t.Endpoint()
	if strings.HasPrefix(endpoint, ":") {
		return "localhost" + endpoint, nil
	}
	return escapeAuthority(endpoint), nil
}

// escapeAuthority percent-encodes what RFC 3986 section 3.2 does not allow in an
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

var errNoCredentials = errors.New("grpc: no transport security set (use grpc.WithTransportCredentials(insecure.NewCredentials()) explicitly or set credentials)")

// checkCredentials settles the transport credentials, and refuses what must not be
// sent over them.
func (o *dialOptions) checkCredentials() error {
	switch {
	case o.creds == nil && o.bundle == nil:
		return errNoCredentials
	case o.creds != nil && o.bundle != nil:
		return errors.New("grpc: credentials.Bundle may not be used with individual TransportCredentials")
	case o.bundle != nil:
		if o.creds = o.bundle.TransportCredentials(); o.creds == nil {
			return errors.New("grpc: credentials.Bundle must return non-nil transport credentials")
		}
		o.bundled = o.bundle.PerRPCCredentials()
	}
	if o.creds.Info().SecurityProtocol != "insecure" {
		return nil
	}
	for _, c := range o.perRPC {
		if c.RequireTransportSecurity() {
			return errors.New("grpc: the credentials require transport level security (use grpc.WithTransportCredentials() to set)")
		}
	}
	return nil
}
