// SPDX-License-Identifier: Apache-2.0

package grpcservice

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"

	channeltlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/grpc_service/channel_credentials/tls/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/tls/certprovider"
	"google.golang.org/grpc/internal/xds/bootstrap"
	"google.golang.org/grpc/internal/xds/handshake"
)

// certificate is a certificate of a certificate provider instance.
type certificate struct {
	config *certprovider.BuildableConfig
	name   string
}

func parseTLS(in *channeltlsv3.TlsCredentials, b *bootstrap.Config) (func() (credentials.Bundle, func(), error), error) {
	roots, err := parseCertificate(in.GetRootCertificateProvider(), b)
	if err != nil {
		return nil, fmt.Errorf("root_certificate_provider: %w", err)
	}
	if roots == nil {
		return nil, errors.New("root_certificate_provider: missing")
	}
	identity, err := parseCertificate(in.GetIdentityCertificateProvider(), b)
	if err != nil {
		return nil, fmt.Errorf("identity_certificate_provider: %w", err)
	}
	return func() (credentials.Bundle, func(), error) { return newTLS(roots, identity) }, nil
}

// parseCertificate returns nil if in is nil.
func parseCertificate(in *tlsv3.CommonTlsContext_CertificateProviderInstance, b *bootstrap.Config) (*certificate, error) {
	if in == nil {
		return nil, nil
	}
	if b == nil || !b.KnowsCertProvider(in.GetInstanceName()) {
		return nil, fmt.Errorf("instance_name: %q is not in certificate_providers of the bootstrap configuration", in.GetInstanceName())
	}
	return &certificate{config: b.CertProviders[in.GetInstanceName()], name: in.GetCertificateName()}, nil
}

// newTLS builds the certificate providers. identity may be nil.
func newTLS(roots, identity *certificate) (credentials.Bundle, func(), error) {
	out := &provided{TransportCredentials: credentials.NewTLS(nil)}
	var err error
	if out.roots, err = roots.config.Build(certprovider.BuildOptions{CertName: roots.name, WantRoot: true}); err != nil {
		return nil, nil, err
	}
	if identity != nil {
		if out.identity, err = identity.config.Build(certprovider.BuildOptions{CertName: identity.name, WantIdentity: true}); err != nil {
			out.roots.Close()
			return nil, nil, err
		}
	}
	return bundle{transport: out}, out.close, nil
}

// provided is TLS with the certificates of providers. The server's certificate must be valid for
// the name of the target.
type provided struct {
	credentials.TransportCredentials // has no certificates: it serves the methods that need none
	roots, identity                  certprovider.Provider
}

func (p *provided) close() {
	p.roots.Close()
	if p.identity != nil {
		p.identity.Close()
	}
}

// Clone implements credentials.TransportCredentials.
func (p *provided) Clone() credentials.TransportCredentials {
	c := *p
	c.TransportCredentials = p.TransportCredentials.Clone()
	return &c
}

// ClientHandshake implements credentials.TransportCredentials. It waits for certificates that have
// not been read yet.
func (p *provided) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	roots, err := p.roots.KeyMaterial(ctx)
	if err != nil {
		return nil, nil, err
	}
	if roots == nil || roots.Roots == nil && roots.SPIFFEBundleMap == nil { // nil would mean the system's roots
		return nil, nil, errors.New("the certificate provider has no roots")
	}
	c := &tls.Config{RootCAs: roots.Roots, MinVersion: tls.VersionTLS12}
	if roots.SPIFFEBundleMap != nil { // Roots must not be used beside it (A87)
		c.InsecureSkipVerify, c.VerifyConnection = true, handshake.VerifyServer(roots, hostOf(authority)) //nolint:gosec // VerifyConnection does
	}
	if p.identity != nil {
		identity, err := p.identity.KeyMaterial(ctx)
		if err != nil {
			return nil, nil, err
		}
		if identity == nil {
			return nil, nil, errors.New("the certificate provider has no certificate")
		}
		c.Certificates = identity.Certs
	}
	return credentials.NewTLS(c).ClientHandshake(ctx, authority, conn)
}

// hostOf returns an authority without its port.
func hostOf(authority string) string {
	if host, _, err := net.SplitHostPort(authority); err == nil {
		return host
	}
	return authority
}
