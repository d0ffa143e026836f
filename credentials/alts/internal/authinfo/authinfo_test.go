// SPDX-License-Identifier: Apache-2.0

package authinfo

import (
	"testing"

	"google.golang.org/grpc/credentials"
	altspb "google.golang.org/grpc/credentials/alts/internal/proto/grpc_gcp"
)

func TestInfo(t *testing.T) {
	versions := &altspb.RpcProtocolVersions{MaxRpcVersion: &altspb.RpcProtocolVersions_Version{Major: 3}}
	account := func(a string) *altspb.Identity {
		return &altspb.Identity{IdentityOneof: &altspb.Identity_ServiceAccount{ServiceAccount: a}}
	}
	i := New(&altspb.HandshakerResult{
		ApplicationProtocol: "app", RecordProtocol: "rec",
		PeerIdentity: account("peer"), LocalIdentity: account("local"), PeerRpcVersions: versions,
	})
	if i.ApplicationProtocol() != "app" || i.RecordProtocol() != "rec" || i.PeerServiceAccount() != "peer" ||
		i.LocalServiceAccount() != "local" || i.PeerRPCVersions() != versions {
		t.Errorf("%+v", i)
	}
	if i.GetCommonAuthInfo().SecurityLevel != credentials.PrivacyAndIntegrity || i.AuthType() != "alts" {
		t.Errorf("%+v", i.CommonAuthInfo)
	}
}

// A result can lack anything, or a peer be known by its host only.
func TestEmpty(t *testing.T) {
	host := &altspb.Identity{IdentityOneof: &altspb.Identity_Hostname{Hostname: "h"}}
	for _, r := range []*altspb.HandshakerResult{nil, {}, {PeerIdentity: host, LocalIdentity: host}} {
		i := New(r)
		if i.PeerServiceAccount() != "" || i.LocalServiceAccount() != "" || i.PeerRPCVersions() != nil || i.ApplicationProtocol() != "" {
			t.Errorf("%+v", i)
		}
	}
}
