// SPDX-License-Identifier: Apache-2.0

package dns

import (
	"net"
	"strings"
	"testing"
)

func TestParseEndpoint(t *testing.T) {
	for _, tt := range []struct {
		in         string
		name, port string // neither: an error
		ip         bool
	}{
		{"host", "host", "443", false},
		{"host:80", "host", "80", false},
		{"host:http", "host", "http", false},
		{"host.:1", "host.", "1", false},
		{":80", "localhost", "80", false},
		{"10.0.0.1", "10.0.0.1", "443", true},
		{"10.0.0.1:80", "10.0.0.1", "80", true},
		{"::1", "::1", "443", true},
		{"[::1]", "::1", "443", true},
		{"[::1]:80", "::1", "80", true},
		{"fe80::1%eth0", "fe80::1%eth0", "443", true},
		{"[fe80::1%eth0]:80", "fe80::1%eth0", "80", true},
		{"2001:db8::a:80", "2001:db8::a:80", "443", true},
		{"", "", "", false},
		{"host:", "", "", false},
		{":", "", "", false},
		{"10.0.0.1:", "", "", false},
		{"[::1]:", "", "", false},
		{"[::1", "", "", false},
		{"a:b:c", "", "", false},
	} {
		got, err := parseEndpoint(tt.in)
		if (err != nil) != (tt.name == "") {
			t.Errorf("%q: error %v", tt.in, err)
		}
		if got != (hostPort{tt.name, tt.port}) || err == nil && got.isIP() != tt.ip {
			t.Errorf("%q: %+v, IP %t", tt.in, got, got.isIP())
		}
	}
}

func FuzzParseEndpoint(f *testing.F) {
	for _, s := range []string{"host", "host:80", ":1", "10.0.0.1", "[::1]:80", "::1", "a:b:c", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		h, err := parseEndpoint(s)
		if err != nil {
			return
		}
		if h.name == "" || h.port == "" {
			t.Fatalf("%q: %+v", s, h)
		}
		if strings.ContainsAny(h.name, "[]") {
			return // a zone of an address, which with a port could not be told from its brackets
		}
		again, err := parseEndpoint(net.JoinHostPort(h.name, h.port))
		if err != nil || again != h {
			t.Fatalf("%q: %+v, and again %+v, %v", s, h, again, err)
		}
	})
}

func TestServer(t *testing.T) {
	for authority, ok := range map[string]bool{
		"":             true,
		"8.8.8.8":      true,
		"8.8.8.8:5353": true,
		"[::1]:53":     true,
		"ns.example":   true,
		"8.8.8.8:":     false,
	} {
		s, err := server(authority)
		if (err == nil) != ok {
			t.Errorf("%q: %v", authority, err)
		}
		if ok && (s == net.DefaultResolver) != (authority == "") {
			t.Errorf("%q: %v", authority, s)
		}
	}
}
