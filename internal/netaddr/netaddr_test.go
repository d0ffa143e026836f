// SPDX-License-Identifier: Apache-2.0

package netaddr

import (
	"net"
	"net/netip"
	"testing"
)

// own is a program's own type of address.
type own string

func (own) Network() string  { return "own" }
func (o own) String() string { return string(o) }

func TestAddrPort(t *testing.T) {
	for _, tt := range []struct {
		in   net.Addr
		want string // "" if there is none
	}{
		{nil, ""},
		{&net.UnixAddr{Name: "/x", Net: "unix"}, ""},
		{own("10.0.0.1"), ""},
		{own("10.0.0.1:7"), "10.0.0.1:7"},
		{own("[::ffff:10.0.0.1]:7"), "10.0.0.1:7"},
		{own("[fe80::1%eth0]:7"), "[fe80::1%eth0]:7"},
		{&net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 7}, "10.0.0.1:7"}, // in 16 bytes
		{&net.TCPAddr{IP: net.ParseIP("fe80::1"), Port: 7, Zone: "eth0"}, "[fe80::1%eth0]:7"},
	} {
		got, ok := AddrPort(tt.in)
		if ok != (tt.want != "") || ok && got != netip.MustParseAddrPort(tt.want) || !ok && got.IsValid() {
			t.Errorf("%v: %v, %t", tt.in, got, ok)
		}
	}
}

func TestText(t *testing.T) {
	if got := Text(nil); got != "" {
		t.Errorf("nil is %q", got)
	}
	if got := Text(own("x")); got != "x" {
		t.Errorf("x is %q", got)
	}
}
