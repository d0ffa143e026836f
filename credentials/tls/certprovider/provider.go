// SPDX-License-Identifier: Apache-2.0

// Package certprovider lets TLS credentials use certificates that change while a program
// runs. A Provider hands out the current ones. A Builder, registered by name, makes providers
// from configuration. Package pemfile has a Provider that watches files.
//
// Experimental: this API may change in a later release.
package certprovider

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"

	"github.com/spiffe/go-spiffe/v2/bundle/spiffebundle"
)

// errProviderClosed is what KeyMaterial returns after Close.
var errProviderClosed = errors.New("provider instance is closed")

// KeyMaterial is what a Provider provides. It must not be changed.
type KeyMaterial struct {
	// Certs are certificates of the local side, with their keys.
	Certs []tls.Certificate
	// Roots are the authorities that must have issued the peer's certificate.
	Roots *x509.CertPool
	// SPIFFEBundleMap has the authorities of SPIFFE trust domains, by the domain's name (gRFC
	// A87). If it is not nil, Roots is not used, and a domain that is not in the map is not
	// trusted.
	SPIFFEBundleMap map[string]*spiffebundle.Bundle
}

// Provider provides key material. Its methods are safe for concurrent use.
type Provider interface {
	// KeyMaterial returns the current key material. If there is none yet, it waits until
	// ctx ends. After Close it returns an error.
	KeyMaterial(ctx context.Context) (*KeyMaterial, error)
	// Close releases what the provider holds.
	Close()
}

// BuildOptions say what a Provider is to provide.
type BuildOptions struct {
	// CertName selects one of the sets of certificates of a provider that has several.
	CertName string
	// WantRoot asks for Roots.
	WantRoot bool
	// WantIdentity asks for Certs.
	WantIdentity bool
}
