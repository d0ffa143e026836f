// SPDX-License-Identifier: Apache-2.0

package local_test

import (
	"net"
	"testing"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/local"
)

// conn has nothing but a remote address.
type conn struct {
	net.Conn
	addr   net.Addr
	closed bool
}

func (c *conn) RemoteAddr() net.Addr { return c.addr }
func (c *conn) Close() error         { c.closed = true; return nil }

// addr is an address of a foreign type.
type addr struct{ network, text string }

func (a addr) Network() string { return a.network }
func (a addr) String() string  { return a.text }

func TestLevels(t *testing.T) {
	const refused = credentials.InvalidSecurityLevel
	for _, tt := range []struct {
		addr net.Addr
		want credentials.SecurityLevel
	}{
		{&net.UnixAddr{Name: "/tmp/s", Net: "unix"}, credentials.PrivacyAndIntegrity},
		{&net.UnixAddr{Net: "unix"}, credentials.PrivacyAndIntegrity},
		{&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, credentials.NoSecurity},
		{&net.TCPAddr{IP: net.IPv4(127, 1, 2, 3)}, credentials.NoSecurity},
		{&net.TCPAddr{IP: net.IPv6loopback}, credentials.NoSecurity},
		{addr{"tcp6", "[::1]:80"}, credentials.NoSecurity},
		{addr{"udp", "127.0.0.1:80"}, credentials.NoSecurity},
		{addr{"pipe", `\\.\pipe\x`}, credentials.NoSecurity},
		{addr{"pipe", `\\server\pipe\x`}, refused},
		{addr{"tcp", `\\.\pipe\x`}, refused},
		{addr{"tcp", "[::ffff:127.0.0.1]:80"}, refused},
		{&net.TCPAddr{IP: net.IPv4(192, 0, 2, 1)}, refused},
		{&net.TCPAddr{}, refused},
		{addr{"tcp", "127.0.0.1.example.com:80"}, refused},
		{addr{"tcp", "localhost:80"}, refused},
		{addr{"unixgram", "/tmp/s"}, refused},
		{nil, refused},
	} {
		creds := local.NewCredentials().Clone()
		c, s := &conn{addr: tt.addr}, &conn{addr: tt.addr}
		gotC, infoC, errC := creds.ClientHandshake(t.Context(), "any", c)
		gotS, infoS, errS := creds.ServerHandshake(s)
		if tt.want == refused {
			if errC == nil || errS == nil || !c.closed || !s.closed {
				t.Errorf("%v passes: %v %v, closed %v %v", tt.addr, errC, errS, c.closed, s.closed)
			}
			continue
		}
		if errC != nil || errS != nil || gotC != c || gotS != s || infoC != infoS {
			t.Errorf("%v: %v %v", tt.addr, errC, errS)
			continue
		}
		common := infoC.(interface {
			GetCommonAuthInfo() credentials.CommonAuthInfo
		}).GetCommonAuthInfo()
		if common.SecurityLevel != tt.want || infoC.AuthType() != "local" {
			t.Errorf("%v: %v %q, want %v", tt.addr, common.SecurityLevel, infoC.AuthType(), tt.want)
		}
	}
	if got := local.NewCredentials().Info().SecurityProtocol; got != "local" {
		t.Errorf("Info: %q", got)
	}
}
