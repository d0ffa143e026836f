// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/url"

	"google.golang.org/protobuf/proto"
)

// TLSInfo is the AuthInfo of TLS connections.
type TLSInfo struct {
	// State is the connection's state, with the peer's certificates.
	State tls.ConnectionState
	CommonAuthInfo
	// SPIFFEID is the SPIFFE ID in the peer's certificate: the only URI, with the scheme "spiffe", a
	// trust domain and a path. It is nil if the certificate has none. Who decides by it must check the
	// rest: it may have characters, empty or dot segments, a port, a query or a fragment that the
	// SPIFFE-ID specification does not allow.
	//
	// Experimental: this API may change in a later release.
	SPIFFEID *url.URL
}

// AuthType returns "tls".
func (t TLSInfo) AuthType() string { return "tls" }

// ValidateAuthority returns an error if the peer's certificate is not valid for
// authority, which is a host with or without a port.
func (t TLSInfo) ValidateAuthority(authority string) error {
	host, _, err := net.SplitHostPort(authority)
	if err != nil {
		host = authority
	}
	if len(t.State.PeerCertificates) == 0 {
		return fmt.Errorf("credentials: no peer certificates found to verify authority %q", host)
	}
	if err := t.State.PeerCertificates[0].VerifyHostname(host); err != nil {
		return err
	}
	return nil
}

// GetSecurityValue returns what channelz shows of the connection.
//
// Experimental: this API may change in a later release.
func (t TLSInfo) GetSecurityValue() ChannelzSecurityValue {
	v := &TLSChannelzSecurityValue{StandardName: tls.CipherSuiteName(t.State.CipherSuite)}
	if len(t.State.PeerCertificates) > 0 {
		v.RemoteCertificate = t.State.PeerCertificates[0].Raw
	}
	return v
}

// ChannelzSecurityInfo is implemented by AuthInfos that channelz can show.
//
// Experimental: this API may change in a later release.
type ChannelzSecurityInfo interface {
	GetSecurityValue() ChannelzSecurityValue
}

// ChannelzSecurityValue is a *TLSChannelzSecurityValue or an
// *OtherChannelzSecurityValue.
//
// Experimental: this API may change in a later release.
type ChannelzSecurityValue interface {
	isChannelzSecurityValue()
}

// TLSChannelzSecurityValue describes a TLS connection to channelz.
//
// Experimental: this API may change in a later release.
type TLSChannelzSecurityValue struct {
	ChannelzSecurityValue
	// StandardName is the cipher suite's name in the IANA registry.
	StandardName string
	// LocalCertificate and RemoteCertificate are in DER.
	LocalCertificate  []byte
	RemoteCertificate []byte
}

// OtherChannelzSecurityValue describes any other secured connection to channelz.
//
// Experimental: this API may change in a later release.
type OtherChannelzSecurityValue struct {
	ChannelzSecurityValue
	Name  string
	Value proto.Message
}
