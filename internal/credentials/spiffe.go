// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"crypto/x509"
	"net/url"
)

// Length limits in bytes, from the SPIFFE-ID specification, sections 2.1 and 2.3.
const (
	maxSPIFFEID          = 2048
	maxSPIFFETrustDomain = 255
)

// SPIFFEID returns the SPIFFE ID of peer[0], a verified leaf certificate, or nil if it has none. The characters
// and segments of the ID are not checked, nor what is behind the path.
//
// X509-SVID, section 2: "An X.509 SVID MUST contain exactly one URI SAN".
func SPIFFEID(peer []*x509.Certificate) *url.URL {
	if len(peer) == 0 || len(peer[0].URIs) != 1 {
		return nil
	}
	id := peer[0].URIs[0]
	if id.Scheme != "spiffe" || id.Opaque != "" || id.User != nil {
		return nil
	}
	if id.Host == "" || len(id.Host) > maxSPIFFETrustDomain || id.Path == "" || len(id.String()) > maxSPIFFEID {
		return nil
	}
	return id
}
