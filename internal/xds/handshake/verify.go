// SPDX-License-Identifier: Apache-2.0

package handshake

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/spiffe/go-spiffe/v2/bundle/spiffebundle"
	"github.com/spiffe/go-spiffe/v2/spiffeid"
	"google.golang.org/grpc/credentials/tls/certprovider"
	icredentials "google.golang.org/grpc/internal/credentials"
	"google.golang.org/grpc/internal/xds/match"
	"google.golang.org/grpc/internal/xds/resource"
)

// roots are the trusted roots: those of the bundles if there are any, otherwise pool. A nil
// pool means the system's roots.
type roots struct {
	pool    *x509.CertPool
	bundles map[string]*spiffebundle.Bundle // by trust domain (A87)
}

func rootsOf(m *certprovider.KeyMaterial) roots {
	if m == nil { // A82
		return roots{}
	}
	return roots{pool: m.Roots, bundles: m.SPIFFEBundleMap}
}

// of returns the roots that must verify a certificate.
func (r roots) of(leaf *x509.Certificate) (*x509.CertPool, error) {
	if r.bundles == nil {
		return r.pool, nil
	}
	id := icredentials.SPIFFEID([]*x509.Certificate{leaf})
	if id == nil {
		return nil, errors.New("the certificate has no SPIFFE ID as its only URI")
	}
	if _, err := spiffeid.FromURI(id); err != nil {
		return nil, fmt.Errorf("the certificate's SPIFFE ID is malformed: %w", err)
	}
	bundle := r.bundles[id.Host]
	if bundle == nil {
		return nil, fmt.Errorf("there is no bundle for SPIFFE trust domain %q", id.Host)
	}
	pool := x509.NewCertPool()
	for _, c := range bundle.X509Authorities() {
		pool.AddCert(c)
	}
	return pool, nil
}

// verifier verifies the peer's certificate instead of crypto/tls. It is immutable.
type verifier struct {
	roots   roots
	depth   uint32         // maximum number of certificates above the leaf; 0 means no limit
	sans    []resource.SAN // at least one must match; if there are none, any name will do
	autoSAN bool           // check the server name that was sent instead of sans
}

// server verifies a server's certificate. crypto/tls calls it in each handshake, also if a session
// is resumed.
func (v *verifier) server(state tls.ConnectionState) error {
	if err := v.chain(state.PeerCertificates, x509.ExtKeyUsageServerAuth); err != nil {
		return err
	}
	leaf := state.PeerCertificates[0]
	switch {
	case v.autoSAN && state.ServerName != "":
		for _, pattern := range leaf.DNSNames {
			if matchDNS(state.ServerName, pattern) {
				return nil
			}
		}
		return fmt.Errorf("xds: certificate check failure: it is not for %q, which was sent as server name, but for %q", state.ServerName, leaf.DNSNames)
	case len(v.sans) == 0 || v.anySAN(leaf):
		return nil
	default:
		return fmt.Errorf("xds: certificate check failure: no subject alternative name matches any of %v", v.sans)
	}
}

// VerifyServer returns what checks, as tls.Config.VerifyConnection, that a server's certificate is trusted by m, which may
// have a bundle map (A87), and that it is for name.
func VerifyServer(m *certprovider.KeyMaterial, name string) func(tls.ConnectionState) error {
	v := &verifier{roots: rootsOf(m)}
	return func(state tls.ConnectionState) error {
		if err := v.server(state); err != nil {
			return err
		}
		return state.PeerCertificates[0].VerifyHostname(name)
	}
}

// client verifies a client's certificate if there is one. crypto/tls checks whether there
// must be one.
func (v *verifier) client(state tls.ConnectionState) error {
	if len(state.PeerCertificates) == 0 {
		return nil
	}
	return v.chain(state.PeerCertificates, x509.ExtKeyUsageClientAuth)
}

func (v *verifier) chain(certs []*x509.Certificate, usage x509.ExtKeyUsage) error {
	if len(certs) == 0 {
		return errors.New("xds: certificate check failure: the peer has no certificate")
	}
	pool, err := v.roots.of(certs[0])
	if err != nil {
		return fmt.Errorf("xds: certificate check failure: %w", err)
	}
	opts := x509.VerifyOptions{Roots: pool, Intermediates: x509.NewCertPool(), KeyUsages: []x509.ExtKeyUsage{usage}}
	for _, c := range certs[1:] {
		opts.Intermediates.AddCert(c)
	}
	chains, err := certs[0].Verify(opts)
	if err != nil {
		return fmt.Errorf("xds: certificate check failure: %w", err)
	}
	for _, chain := range chains {
		if v.depth == 0 || uint64(len(chain)-1) <= uint64(v.depth) {
			return nil
		}
	}
	return fmt.Errorf("xds: certificate check failure: the chain of certificates is longer than max_verify_depth, %d, allows", v.depth)
}

// anySAN reports whether a subject alternative name of the certificate matches any of sans
// (A29).
func (v *verifier) anySAN(leaf *x509.Certificate) bool {
	for i := range v.sans {
		if matchSAN(&v.sans[i], leaf) {
			return true
		}
	}
	return false
}

// matchSAN reports whether a name of the matcher's kind matches.
func matchSAN(m *resource.SAN, leaf *x509.Certificate) bool {
	wants := func(k resource.SANKind) bool { return m.Kind == resource.AnySAN || m.Kind == k }
	return wants(resource.DNSSAN) && matchDNSNames(&m.Name, leaf) ||
		wants(resource.EmailSAN) && slices.ContainsFunc(leaf.EmailAddresses, func(name string) bool { return name != "" && m.Name.Match(name) }) ||
		wants(resource.IPSAN) && slices.ContainsFunc(leaf.IPAddresses, func(ip net.IP) bool { return m.Name.Match(ip.String()) }) ||
		wants(resource.URISAN) && slices.ContainsFunc(leaf.URIs, func(u *url.URL) bool { return u.String() != "" && m.Name.Match(u.String()) })
}

// matchDNSNames takes wildcards in the certificate's names into account if the match is
// exact.
func matchDNSNames(m *match.String, leaf *x509.Certificate) bool {
	want, isExact := m.ExactText()
	return slices.ContainsFunc(leaf.DNSNames, func(name string) bool {
		return name != "" && (m.Match(name) || isExact && matchDNS(want, name))
	})
}

// matchDNS reports whether a DNS name in a certificate matches a host. The whole first label
// of the name may be an asterisk (RFC 6125, section 6.4.3).
func matchDNS(host, pattern string) bool {
	host, pattern = strings.TrimSuffix(host, "."), strings.TrimSuffix(pattern, ".")
	if host == "" || pattern == "" {
		return false
	}
	rest, wild := strings.CutPrefix(pattern, "*.")
	if !wild {
		return !strings.Contains(pattern, "*") && strings.EqualFold(host, pattern)
	}
	label, domain, ok := strings.Cut(host, ".")
	return ok && label != "" && rest != "" && !strings.Contains(rest, "*") && strings.EqualFold(domain, rest)
}
