// SPDX-License-Identifier: Apache-2.0

package handshaker

import (
	"cmp"
	"errors"
	"fmt"

	altspb "google.golang.org/grpc/credentials/alts/internal/proto/grpc_gcp"
	"google.golang.org/grpc/internal/altsconn"
)

const applicationProtocol = "grpc"

const recordProtocol = altsconn.AES128GCMRekey

// rpcVersions returns the RPC protocol versions that this module speaks.
func rpcVersions() *altspb.RpcProtocolVersions {
	return &altspb.RpcProtocolVersions{
		MaxRpcVersion: &altspb.RpcProtocolVersions_Version{Major: 2, Minor: 1},
		MinRpcVersion: &altspb.RpcProtocolVersions_Version{Major: 2, Minor: 1},
	}
}

func clientStart(cfg *Config) *altspb.HandshakerReq {
	req := &altspb.StartClientHandshakeReq{
		HandshakeSecurityProtocol: altspb.HandshakeProtocol_ALTS,
		ApplicationProtocols:      []string{applicationProtocol},
		RecordProtocols:           []string{recordProtocol},
		TargetName:                cfg.TargetName,
		RpcVersions:               rpcVersions(),
		MaxFrameSize:              uint32(cfg.MaxRecord),
	}
	for _, account := range cfg.TargetServiceAccounts {
		req.TargetIdentities = append(req.TargetIdentities, &altspb.Identity{
			IdentityOneof: &altspb.Identity_ServiceAccount{ServiceAccount: account},
		})
	}
	return &altspb.HandshakerReq{ReqOneof: &altspb.HandshakerReq_ClientStart{ClientStart: req}}
}

func serverStart(cfg *Config, in []byte) *altspb.HandshakerReq {
	req := &altspb.StartServerHandshakeReq{
		ApplicationProtocols: []string{applicationProtocol},
		HandshakeParameters: map[int32]*altspb.ServerHandshakeParameters{
			int32(altspb.HandshakeProtocol_ALTS): {RecordProtocols: []string{recordProtocol}},
		},
		InBytes:      in,
		RpcVersions:  rpcVersions(),
		MaxFrameSize: uint32(cfg.MaxRecord),
	}
	return &altspb.HandshakerReq{ReqOneof: &altspb.HandshakerReq_ServerStart{ServerStart: req}}
}

// check returns an error if no connection can be made with the service's result.
func check(r *altspb.HandshakerResult) error {
	need := altsconn.KeySize(r.GetRecordProtocol())
	switch {
	case r.GetApplicationProtocol() != applicationProtocol:
		return fmt.Errorf("alts: the handshake agreed on the application protocol %q, want %q", r.GetApplicationProtocol(), applicationProtocol)
	case need == 0:
		return fmt.Errorf("alts: the handshake agreed on the unknown record protocol %q", r.GetRecordProtocol())
	case len(r.GetKeyData()) < need:
		return fmt.Errorf("alts: the handshake's key has %d bytes, want %d", len(r.GetKeyData()), need)
	case r.GetPeerIdentity() == nil:
		return errors.New("alts: the handshake does not say who the peer is")
	case r.GetLocalIdentity() == nil:
		return errors.New("alts: the handshake does not say who this side is")
	}
	return checkVersions(rpcVersions(), r.GetPeerRpcVersions())
}

// checkVersions returns an error if no version is in both ranges.
func checkVersions(own, peer *altspb.RpcProtocolVersions) error {
	upper, lower := own.GetMaxRpcVersion(), own.GetMinRpcVersion()
	if v := peer.GetMaxRpcVersion(); compare(v, upper) < 0 {
		upper = v
	}
	if v := peer.GetMinRpcVersion(); compare(v, lower) > 0 {
		lower = v
	}
	if compare(upper, lower) < 0 {
		return fmt.Errorf("alts: no common RPC protocol version: here %s, the peer %s", versionRange(own), versionRange(peer))
	}
	return nil
}

type version = altspb.RpcProtocolVersions_Version

// compare orders versions. A nil version is 0.0.
func compare(a, b *version) int {
	return cmp.Or(cmp.Compare(a.GetMajor(), b.GetMajor()), cmp.Compare(a.GetMinor(), b.GetMinor()))
}

func versionRange(r *altspb.RpcProtocolVersions) string {
	lo, hi := r.GetMinRpcVersion(), r.GetMaxRpcVersion()
	return fmt.Sprintf("%d.%d to %d.%d", lo.GetMajor(), lo.GetMinor(), hi.GetMajor(), hi.GetMinor())
}

// negotiate returns the greatest size of the records that this side writes: the smaller of
// what both sides offered, but at least altsconn.MinRecord. A peer that offers 0 is older
// than this negotiation: it gets at most altsconn.DefaultRecord.
func negotiate(own int, peer uint32) int {
	if peer == 0 {
		return min(own, altsconn.DefaultRecord)
	}
	return max(min(own, int(min(peer, altsconn.MaxRecord))), altsconn.MinRecord)
}
