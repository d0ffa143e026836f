// SPDX-License-Identifier: Apache-2.0

// Package insecure provides credentials without any security: connections are plaintext,
// and the peer's identity is not verified.
package insecure

import (
	"context"
	"net"

	"google.golang.org/grpc/credentials"
)

// NewCredentials returns credentials for plaintext connections.
func NewCredentials() credentials.TransportCredentials { return insecureTC{} }

// NewBundle returns a bundle of NewCredentials and no per-RPC credentials. It is the same
// in every mode.
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

// noAuth is a variable so that the conversion to an interface allocates only once: all
// connections and peers share it.
var noAuth credentials.AuthInfo = info{
	credentials.CommonAuthInfo{SecurityLevel: credentials.NoSecurity},
}

type info struct {
	credentials.CommonAuthInfo
}

func (info) AuthType() string { return "insecure" }

// ValidateAuthority accepts every authority: nothing is known of the peer to check it against.
func (info) ValidateAuthority(string) error { return nil }

type bundle struct{}

func (bundle) NewWithMode(string) (credentials.Bundle, error) { return bundle{}, nil }

func (bundle) PerRPCCredentials() credentials.PerRPCCredentials { return nil }

func (bundle) TransportCredentials() credentials.TransportCredentials { return NewCredentials() }
