// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/url"
	"testing"

	"google.golang.org/grpc/credentials"
)

// TestHandlerPeer: who called is known behind net/http, too, by the SPIFFE ID of the certificate.
func TestHandlerPeer(t *testing.T) {
	id := &url.URL{Scheme: "spiffe", Host: "domain", Path: "/workload"}
	s := &HandlerStream{r: &http.Request{RemoteAddr: "1.2.3.4:5", TLS: &tls.ConnectionState{
		PeerCertificates: []*x509.Certificate{{URIs: []*url.URL{id}}},
	}}}
	s.setPeer()
	info := s.peer.AuthInfo.(credentials.TLSInfo)
	if info.SPIFFEID == nil || *info.SPIFFEID != *id || s.peer.Addr.String() != "1.2.3.4:5" {
		t.Errorf("%v, %v", s.peer.Addr, info.SPIFFEID)
	}
}
