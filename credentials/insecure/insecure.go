// SPDX-License-Identifier: Apache-2.0

// Package insecure provides credentials without any security: plaintext, and a peer
// that could be anybody.
package insecure

import (
	"context"
	"net"

	"google.golang.org/grpc/credentials"
)

// NewCredentials returns credentials for plaintext connections.
func NewCredentials() credentials.TransportCredentials { return plaintext{} }

// NewBundle returns NewCredentials as a bundle, the same in every mode, without
// per-RPC credentials.
func NewBundle() credentials.Bundle { return bundle{} }

type plaintext struct{}

func (plaintext) ClientHandshake(_ context.Context, _ string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return conn, noAuth, nil
}

func (plaintext) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return conn, noAuth, nil
}

func (plaintext) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "insecure"}
}

func (plaintext) Clone() credentials.TransportCredentials { return plaintext{} }

func (plaintext) OverrideServerName(string) error { return nil }

// noAuth is boxed once: every connection and peer shares it.
var noAuth credentials.AuthInfo = authInfo{
	credentials.CommonAuthInfo{SecurityLevel: credentials.NoSecurity},
}

type authInfo struct {
	credentials.CommonAuthInfo
}

func (authInfo) AuthType() string { return "insecure" }

// ValidateAuthority accepts everything: there is nothing to check it by.
func (authInfo) ValidateAuthority(string) error { return nil }

type bundle struct{}

func (bundle) NewWithMode(string) (credentials.Bundle, error) { return bundle{}, nil }

func (bundle) PerRPCCredentials() credentials.PerRPCCredentials { return nil }

func (bundle) TransportCredentials() credentials.TransportCredentials { return NewCredentials() }
