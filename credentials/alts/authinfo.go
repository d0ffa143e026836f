// SPDX-License-Identifier: Apache-2.0

package alts

import (
	"context"
	"errors"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/alts/internal/authinfo"
	altspb "google.golang.org/grpc/credentials/alts/internal/proto/grpc_gcp"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// AuthInfo describes an ALTS connection. It is the AuthInfo in the peer.Peer of an RPC over
// such a connection.
type AuthInfo interface {
	// ApplicationProtocol is the protocol that the connection carries.
	ApplicationProtocol() string
	// RecordProtocol is the protocol that protects the connection.
	RecordProtocol() string
	// SecurityLevel says what the connection is protected against.
	SecurityLevel() altspb.SecurityLevel
	// PeerServiceAccount is the peer's service account. It is empty if the peer has none.
	PeerServiceAccount() string
	// LocalServiceAccount is the service account by which the peer knows this side. It is
	// empty if this side has none.
	LocalServiceAccount() string
	// PeerRPCVersions is the range of RPC protocol versions that the peer speaks.
	PeerRPCVersions() *altspb.RpcProtocolVersions
}

var _ AuthInfo = (*authinfo.Info)(nil)

// AuthInfoFromContext returns the AuthInfo of the connection of a server's RPC. ctx is the
// context of the RPC's handler. It returns an error if that is not an ALTS connection.
func AuthInfoFromContext(ctx context.Context) (AuthInfo, error) {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return nil, errors.New("no Peer found in Context")
	}
	return AuthInfoFromPeer(p)
}

// AuthInfoFromPeer returns the AuthInfo of an RPC's peer. It returns an error if the
// connection to the peer is not an ALTS connection.
func AuthInfoFromPeer(p *peer.Peer) (AuthInfo, error) {
	info, ok := p.AuthInfo.(AuthInfo)
	if !ok {
		return nil, errors.New("no alts.AuthInfo found in Peer")
	}
	return info, nil
}

// ClientAuthorizationCheck returns nil if the client's service account is one of
// expectedServiceAccounts, compared without regard to case. If it is not, or if the RPC
// didn't come over ALTS, it returns an error with codes.PermissionDenied. ctx is the context
// of the RPC's handler.
func ClientAuthorizationCheck(ctx context.Context, expectedServiceAccounts []string) error {
	info, err := AuthInfoFromContext(ctx)
	if err != nil {
		return status.Errorf(codes.PermissionDenied, "The context is not an ALTS-compatible context: %v", err)
	}
	account := info.PeerServiceAccount()
	if !slices.ContainsFunc(expectedServiceAccounts, func(a string) bool { return strings.EqualFold(a, account) }) {
		return status.Errorf(codes.PermissionDenied, "Client %v is not authorized", account)
	}
	return nil
}
