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
func NewCredentials() credentials.TransportCredentials { return insecureTC{} }

// NewBundle returns NewCredentials as a bundle, the same in every mode, without
// per-RPC credentials.
func NewBundle() credentials.Bundle { return bundle{} }

type insecureTC struct{}

func (insecureTC) ClientHandshake(_ context.Context, _ string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return conn, noAuth, nil
}

func (insecureTC) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return conn, noAuth, nil
}

func (insecureTC) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "insecure"}
}

func (insecureTC) Clone() credentials.TransportCredentials { return insecureTC{} }

func (insecureTC) OverrideServerName(string) error { return nil }

// noAuth is boxed once: every connection and peer shares it.
var noAuth credentials.AuthInfo = info{
	credentials.CommonAuthInfo{SecurityLevel: credentials.NoSecurity},
}

type info struct {
	credentials.CommonAuthInfo
}

func (info) AuthType() string { return "insecure" }

// ValidateAuthority accepts everything: there is nothing to check it by.
func (info) ValidateAuthority(string) error { return nil }

type bundle struct{}

func (bundle) NewWithMode(string) (credentials.Bundle, error) { return bundle{}, nil }

func (bundle) PerRPCCredentials() credentials.PerRPCCredentials { return nil }

func (bundle) TransportCredentials() credentials.TransportCredentials { return NewCredentials() }
