// SPDX-License-Identifier: Apache-2.0

// Package authinfo is what an ALTS handshake leaves behind for the application.
package authinfo

import (
	"google.golang.org/grpc/credentials"
	altspb "google.golang.org/grpc/credentials/alts/internal/proto/grpc_gcp"
)

// Info describes a connection after its handshake. It doesn't change.
type Info struct {
	credentials.CommonAuthInfo
	application, record string
	local, peer         string // service accounts
	versions            *altspb.RpcProtocolVersions
}

// New returns what a handshake's result says. The result, which holds the key, is not
// kept; none of its fields need be set.
func New(result *altspb.HandshakerResult) *Info {
	i := &Info{
		application: result.GetApplicationProtocol(),
		record:      result.GetRecordProtocol(),
		local:       result.GetLocalIdentity().GetServiceAccount(),
		peer:        result.GetPeerIdentity().GetServiceAccount(),
		versions:    result.GetPeerRpcVersions(),
	}
	// There is no ALTS connection that protects less.
	i.CommonAuthInfo.SecurityLevel = credentials.PrivacyAndIntegrity
	return i
}

// AuthType implements credentials.AuthInfo.
func (*Info) AuthType() string { return "alts" }

// ApplicationProtocol is the protocol that the connection carries.
func (i *Info) ApplicationProtocol() string { return i.application }

// RecordProtocol is the protocol that protects the connection.
func (i *Info) RecordProtocol() string { return i.record }

// SecurityLevel says what the connection is protected against.
func (*Info) SecurityLevel() altspb.SecurityLevel {
	return altspb.SecurityLevel_INTEGRITY_AND_PRIVACY
}

// PeerServiceAccount is who the peer is, empty if it has no service account.
func (i *Info) PeerServiceAccount() string { return i.peer }

// LocalServiceAccount is who this side is to the peer, empty if it has no service
// account.
func (i *Info) LocalServiceAccount() string { return i.local }

// PeerRPCVersions is the range of RPC protocol versions that the peer speaks.
func (i *Info) PeerRPCVersions() *altspb.RpcProtocolVersions { return i.versions }
