// SPDX-License-Identifier: Apache-2.0

// Package authinfo holds what an application can learn of an ALTS handshake.
package authinfo

import (
	"google.golang.org/grpc/credentials"
	altspb "google.golang.org/grpc/credentials/alts/internal/proto/grpc_gcp"
)

// Info describes a connection after its handshake. It is immutable.
type Info struct {
	credentials.CommonAuthInfo
	application, record string
	local, peer         string // service accounts
	versions            *altspb.RpcProtocolVersions
}

// New returns the Info of a handshake's result. It does not keep the result, which holds
// the key. Any field of the result may be unset.
func New(result *altspb.HandshakerResult) *Info {
	i := &Info{
		application: result.GetApplicationProtocol(),
		record:      result.GetRecordProtocol(),
		local:       result.GetLocalIdentity().GetServiceAccount(),
		peer:        result.GetPeerIdentity().GetServiceAccount(),
		versions:    result.GetPeerRpcVersions(),
	}
	// All ALTS connections have this level.
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

// PeerServiceAccount is the peer's service account. It is empty if the peer has none.
func (i *Info) PeerServiceAccount() string { return i.peer }

// LocalServiceAccount is the service account by which the peer knows this side. It is empty
// if this side has none.
func (i *Info) LocalServiceAccount() string { return i.local }

// PeerRPCVersions is the range of RPC protocol versions that the peer speaks.
func (i *Info) PeerRPCVersions() *altspb.RpcProtocolVersions { return i.versions }
