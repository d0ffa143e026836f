// SPDX-License-Identifier: Apache-2.0

package handshake

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"sync"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/tls/certprovider"
	expcredentials "google.golang.org/grpc/experimental/credentials"
	"google.golang.org/grpc/internal/xds/resource"
)

// Providers are the certificate provider instances of a bootstrap configuration, by name.
type Providers = map[string]*certprovider.BuildableConfig

// source makes credentials from the certificates of one configuration. It closes the providers
// after Close, when its last use has ended.
type source struct {
	identity, roots certprovider.Provider // nil if none is configured
	// config makes a TLS configuration. identity and roots are nil if the provider is nil.
	config func(identity, roots *certprovider.KeyMaterial) (*tls.Config, error)

	mu     sync.Mutex
	users  int
	closed bool
	made   made
}

// made caches the credentials that were made last, and the certificates from which they were
// made. Connections keep their TLS configuration, so they share one as long as the certificates
// stay the same.
type made struct {
	identity, roots *certprovider.KeyMaterial
	creds           credentials.TransportCredentials
}

// newSource builds the providers. It builds only one if identity and roots are the same.
func newSource(identity, roots resource.CertProvider, all Providers) (*source, error) {
	s := &source{}
	none := resource.CertProvider{}
	if identity == roots && identity != none {
		p, err := build(identity, all, certprovider.BuildOptions{WantIdentity: true, WantRoot: true})
		if err != nil {
			return nil, err
		}
		s.identity, s.roots = p, p
		return s, nil
	}
	kept := false
	defer func() {
		if !kept { // also if a builder panics or ends the goroutine
			s.close()
		}
	}()
	var err error
	if identity != none {
		if s.identity, err = build(identity, all, certprovider.BuildOptions{WantIdentity: true}); err != nil {
			return nil, err
		}
	}
	if roots != none {
		if s.roots, err = build(roots, all, certprovider.BuildOptions{WantRoot: true}); err != nil {
			return nil, err
		}
	}
	kept = true
	return s, nil
}

func build(p resource.CertProvider, all Providers, o certprovider.BuildOptions) (certprovider.Provider, error) {
	config, ok := all[p.Instance]
	if !ok {
		return nil, fmt.Errorf("xds: certificate provider instance %q is not in the bootstrap configuration", p.Instance)
	}
	o.CertName = p.Certificate
	provider, err := config.Build(o)
	if err != nil {
		return nil, fmt.Errorf("xds: certificate provider instance %q: %w", p.Instance, err)
	}
	return provider, nil
}

// use keeps the source open until done is called. It returns false if the source is closed.
func (s *source) use() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.users++
	return true
}

func (s *source) done() {
	s.mu.Lock()
	s.users--
	last := s.closed && s.users == 0
	s.mu.Unlock()
	if last {
		s.close()
	}
}

// Close closes the providers, as soon as the source is not in use. s may be nil. Close calls code of the program, so
// its caller must hold no lock.
func (s *source) Close() {
	if s == nil {
		return
	}
	s.mu.Lock()
	last := !s.closed && s.users == 0
	s.closed = true
	s.mu.Unlock()
	if last {
		s.close()
	}
}

func (s *source) close() {
	for _, p := range []certprovider.Provider{s.identity, s.roots} {
		if p != nil {
			p.Close() // both may be the same provider; closing it twice is allowed
		}
	}
}

// credentials returns credentials with the current certificates. It waits for certificates that
// have not been read yet, until ctx ends.
func (s *source) credentials(ctx context.Context) (credentials.TransportCredentials, error) {
	identity, err := material(ctx, s.identity)
	if err != nil {
		return nil, fmt.Errorf("xds: identity certificate: %w", err)
	}
	roots, err := material(ctx, s.roots)
	if err != nil {
		return nil, fmt.Errorf("xds: root certificates: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := &s.made; m.creds != nil && m.identity == identity && m.roots == roots {
		return m.creds, nil
	}
	if identity != nil && len(identity.Certs) == 0 {
		return nil, errors.New("xds: the certificate provider has no identity certificate")
	}
	if roots != nil && roots.Roots == nil && roots.SPIFFEBundleMap == nil {
		return nil, errors.New("xds: the certificate provider has no root certificates")
	}
	config, err := s.config(identity, roots)
	if err != nil {
		return nil, err
	}
	s.made = made{identity, roots, expcredentials.NewTLSWithALPNDisabled(config)} // the control plane may not have the peer negotiate ALPN
	return s.made.creds, nil
}

// material returns nil only if p is nil: no material would mean that none is asked for, and so the system's
// roots on a client, and on a server that clients need no certificate.
func material(ctx context.Context, p certprovider.Provider) (*certprovider.KeyMaterial, error) {
	if p == nil {
		return nil, nil
	}
	m, err := p.KeyMaterial(ctx)
	if err == nil && m == nil {
		err = errors.New("the certificate provider has returned nothing")
	}
	return m, err
}
