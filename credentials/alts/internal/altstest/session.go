// SPDX-License-Identifier: Apache-2.0

package altstest

import (
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/grpc/codes"
	altspb "google.golang.org/grpc/credentials/alts/internal/proto/grpc_gcp"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// A session is one side's handshake. The exchange is
//
//	client: ClientInit     public key, offer
//	server: ServerInit     public key, choice, MAC
//	client: ClientFinished MAC
//
// where offer and choice are made from the parties' requests to the service, without the
// fields that the peer need not know. No side proves its identity: this is for tests.
type session struct {
	private    *ecdh.PrivateKey
	transcript []byte // what both sides have sent
	secret     []byte
	result     *altspb.HandshakerResult // as far as it is known
	accounts   []string                 // the service accounts that the server may have
}

const (
	publicKeySize = 32
	macSize       = sha256.Size
	// keyDataSize is more than any record protocol needs.
	keyDataSize = 128
)

func newSession() (*session, error) {
	key, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	return &session{private: key}, nil
}

// hello returns the body of a frame: the public key, followed by m.
func (s *session) hello(m proto.Message) ([]byte, error) {
	b, err := proto.Marshal(m)
	return append(s.private.PublicKey().Bytes(), b...), err
}

// accept parses the peer's hello: it derives the shared secret, and unmarshals the message
// into m.
func (s *session) accept(body []byte, m proto.Message) error {
	if len(body) < publicKeySize {
		return errors.New("altstest: a hello without a public key")
	}
	peer, err := ecdh.X25519().NewPublicKey(body[:publicKeySize])
	if err != nil {
		return err
	}
	if s.secret, err = s.private.ECDH(peer); err != nil {
		return err
	}
	return proto.Unmarshal(body[publicKeySize:], m)
}

// derive returns n bytes that both sides know.
func (s *session) derive(label string, n int) []byte {
	salt := sha256.Sum256(s.transcript)
	b, err := hkdf.Key(sha256.New, s.secret, salt[:], label, n)
	if err != nil {
		panic(err) // n is a constant, and not too large
	}
	return b
}

func (s *session) mac(label string) []byte {
	h := hmac.New(sha256.New, s.derive(label, sha256.Size))
	h.Write(s.transcript)
	return h.Sum(nil)
}

// clientInit begins a client's handshake.
func (s *session) clientInit(req *altspb.StartClientHandshakeReq, account string) ([]byte, error) {
	for _, id := range req.GetTargetIdentities() {
		s.accounts = append(s.accounts, id.GetServiceAccount())
	}
	local := identityOr(req.GetLocalIdentity(), account)
	s.result = &altspb.HandshakerResult{LocalIdentity: local}
	body, err := s.hello(&altspb.StartClientHandshakeReq{
		ApplicationProtocols: req.GetApplicationProtocols(),
		RecordProtocols:      req.GetRecordProtocols(),
		LocalIdentity:        local,
		RpcVersions:          req.GetRpcVersions(),
		MaxFrameSize:         req.GetMaxFrameSize(),
	})
	s.transcript = append(s.transcript, body...)
	return appendFrame(nil, clientInit, body), err
}

// serverInit answers a ClientInit.
func (s *session) serverInit(body []byte, req *altspb.StartServerHandshakeReq, account string) ([]byte, error) {
	var offer altspb.StartClientHandshakeReq
	if err := s.accept(body, &offer); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	s.transcript = append(s.transcript, body...)
	params := req.GetHandshakeParameters()[int32(altspb.HandshakeProtocol_ALTS)]
	app := common(req.GetApplicationProtocols(), offer.GetApplicationProtocols())
	rec := common(params.GetRecordProtocols(), offer.GetRecordProtocols())
	if app == "" || rec == "" {
		return nil, status.Errorf(codes.FailedPrecondition, "no common protocol: application %q, record %q", app, rec)
	}
	var local *altspb.Identity
	if ids := params.GetLocalIdentities(); len(ids) > 0 {
		local = ids[0]
	}
	local = identityOr(local, account)
	s.result = &altspb.HandshakerResult{
		ApplicationProtocol: app,
		RecordProtocol:      rec,
		PeerIdentity:        offer.GetLocalIdentity(),
		LocalIdentity:       local,
		PeerRpcVersions:     offer.GetRpcVersions(),
		MaxFrameSize:        offer.GetMaxFrameSize(),
	}
	choice, err := s.hello(&altspb.HandshakerResult{
		ApplicationProtocol: app,
		RecordProtocol:      rec,
		PeerIdentity:        local,
		PeerRpcVersions:     req.GetRpcVersions(),
		MaxFrameSize:        req.GetMaxFrameSize(),
	})
	s.transcript = append(s.transcript, choice...)
	return appendFrame(nil, serverInit, append(choice, s.mac("server")...)), err
}

// clientFinished answers a ServerInit. The client is then done.
func (s *session) clientFinished(body []byte) ([]byte, error) {
	if len(body) < macSize {
		return nil, status.Error(codes.InvalidArgument, "a ServerInit without a MAC")
	}
	choice, mac := body[:len(body)-macSize], body[len(body)-macSize:]
	var peer altspb.HandshakerResult
	if err := s.accept(choice, &peer); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	s.transcript = append(s.transcript, choice...)
	if !hmac.Equal(mac, s.mac("server")) {
		return nil, status.Error(codes.Unauthenticated, "the server's MAC is wrong")
	}
	if account := peer.GetPeerIdentity().GetServiceAccount(); len(s.accounts) > 0 && !slices.Contains(s.accounts, account) {
		return nil, status.Errorf(codes.PermissionDenied, "the server is %q, want one of %q", account, s.accounts)
	}
	peer.LocalIdentity = s.result.GetLocalIdentity()
	s.result = &peer
	s.result.KeyData = s.derive("key", keyDataSize)
	return appendFrame(nil, clientFinished, s.mac("client")), nil
}

// finish takes the ClientFinished. The server is then done.
func (s *session) finish(body []byte) error {
	if !hmac.Equal(body, s.mac("client")) {
		return status.Error(codes.Unauthenticated, "the client's MAC is wrong")
	}
	s.result.KeyData = s.derive("key", keyDataSize)
	return nil
}

func alertFrame(err error) []byte { return appendFrame(nil, alert, []byte(err.Error())) }

func alertError(body []byte) error {
	return status.Error(codes.Aborted, fmt.Sprintf("the peer gave up: %s", body))
}

func identityOr(id *altspb.Identity, account string) *altspb.Identity {
	if id != nil {
		return id
	}
	return &altspb.Identity{IdentityOneof: &altspb.Identity_ServiceAccount{ServiceAccount: account}}
}

// common returns the first of own that is also in peer, or "" if there is none.
func common(own, peer []string) string {
	for _, p := range own {
		if slices.Contains(peer, p) {
			return p
		}
	}
	return ""
}
