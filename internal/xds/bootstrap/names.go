// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"errors"
	"fmt"
	"strings"
)

// listenerType is the resource type in the names of Listeners.
const listenerType = "envoy.config.listener.v3.Listener"

// newStyle is the prefix of names that have a federation authority (A47).
const newStyle = "xdstp:"

// ClientListener returns the name of the Listener for a channel's target
// "xds://authority/endpoint". authority may be empty (A47).
func (c *Config) ClientListener(authority, endpoint string) (string, error) {
	if authority == "" {
		return expand(c.ClientTemplate, endpoint), nil
	}
	a, ok := c.Authorities[authority]
	if !ok {
		return "", fmt.Errorf("xds: authority %q of the target is not in the bootstrap configuration", authority)
	}
	return expand(a.ClientTemplate, endpoint), nil
}

// ServerListener returns the name of the Listener for a server's listening address, such as
// "10.1.2.3:80" or "[::]:80" (A36).
func (c *Config) ServerListener(address string) (string, error) {
	if c.ServerTemplate == "" {
		return "", errors.New("xds: the bootstrap configuration lacks server_listener_resource_name_template")
	}
	return expand(c.ServerTemplate, address), nil
}

// expand replaces each "%s" in the template by the value. It escapes the value if the template
// is a URI.
func expand(template, value string) string {
	if strings.HasPrefix(template, newStyle) {
		value = escapePath(value)
	}
	return strings.ReplaceAll(template, "%s", value)
}

// escapePath escapes the characters that a URI's path must not contain (RFC 3986, section 3.3).
// It does not escape slashes.
func escapePath(s string) string { return escape(s, ":@/") }

// escapeAuthority escapes the characters that a URI's authority must not contain (RFC 3986,
// section 3.2).
func escapeAuthority(s string) string { return escape(s, ":@[]") }

// escape escapes all bytes except unreserved characters, sub-delims and those in also.
func escape(s, also string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9',
			strings.IndexByte("-._~!$&'()*+,;=", c) >= 0, strings.IndexByte(also, c) >= 0:
			b.WriteByte(c)
		default:
			b.WriteByte('%')
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		}
	}
	return b.String()
}
