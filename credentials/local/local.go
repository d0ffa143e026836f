// SPDX-License-Identifier: Apache-2.0

// Package local provides credentials for connections that don't leave the machine. Unix
// sockets have the level PrivacyAndIntegrity. Connections to a loopback address, and named pipes of
// Windows, have the level NoSecurity.
// The credentials refuse any other connection.
package local

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"

	"google.golang.org/grpc/credentials"
)

// NewCredentials returns credentials for local connections.
func NewCredentials() credentials.TransportCredentials { return &local{} }

type local struct {
	name string // what OverrideServerName was given
}

func (*local) ClientHandshake(_ context.Context, _ string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return check(conn)
}

func (*local) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return check(conn)
}

func (l *local) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "local", ServerName: l.name}
}

func (l *local) Clone() credentials.TransportCredentials { return &local{l.name} }

func (l *local) OverrideServerName(name string) error {
	l.name = name
	return nil
}

// check closes conn if it is not local.
func check(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	level, err := levelOf(conn.RemoteAddr())
	if err != nil {
		conn.Close()
		return nil, nil, err
	}
	return conn, info{credentials.CommonAuthInfo{SecurityLevel: level}}, nil
}

func levelOf(addr net.Addr) (credentials.SecurityLevel, error) {
	if addr == nil {
		return 0, fmt.Errorf("local: the connection has no remote address")
	}
	switch {
	case addr.Network() == "unix":
		return credentials.PrivacyAndIntegrity, nil
	case addr.Network() == "pipe" && strings.HasPrefix(addr.String(), `\\.\pipe\`): // a named pipe of this Windows machine
		return credentials.NoSecurity, nil
	case isLoopback(addr):
		return credentials.NoSecurity, nil
	}
	return 0, fmt.Errorf("local credentials rejected connection to non-local address %q", addr)
}

// isLoopback parses the text of addresses that are not a *net.TCPAddr, as those of other
// packages' connections may be.
func isLoopback(addr net.Addr) bool {
	if tcp, ok := addr.(*net.TCPAddr); ok {
		return tcp.IP.IsLoopback()
	}
	ap, err := netip.ParseAddrPort(addr.String())
	return err == nil && ap.Addr().IsLoopback() && !ap.Addr().Is4In6()
}

type info struct {
	credentials.CommonAuthInfo
}

func (info) AuthType() string { return "local" }

// ValidateAuthority accepts every authority: a local peer is trusted.
func (info) ValidateAuthority(string) error { return nil }
