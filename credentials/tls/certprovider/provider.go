// SPDX-License-Identifier: Apache-2.0

// Package certprovider is about where TLS credentials get certificates from, when these
// change while a program runs. A Provider hands out the current ones; a Builder, registered
// by name, makes providers from configuration. Package pemfile has one that watches files.
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
var errProviderClosed = errors.New("certprovider: the provider is closed")

// KeyMaterial is what a Provider provides. It must not be changed.
type KeyMaterial struct {
	// Certs are certificates of the local side, with their keys.
	Certs []tls.Certificate
	// Roots are the authorities that certificates of the peer have to come from.
	Roots *x509.CertPool
	// SPIFFEBundleMap has the authorities of SPIFFE trust domains, by the domain's name (gRFC
	// A87). If it is not nil it counts, and Roots don't; a domain that is not in it is not
	// trusted.
	SPIFFEBundleMap map[string]*spiffebundle.Bundle
}

// Provider provides key material. Its methods are safe for concurrent use.
type Provider interface {
	// KeyMaterial returns what is current, and waits if there is nothing yet, as long
	// as the context allows. After Close it fails.
	KeyMaterial(ctx context.Context) (*KeyMaterial, error)
	// Close releases what the provider holds.
	Close()
}

// BuildOptions say what is wanted of a Provider.
type BuildOptions struct {
	// CertName is a name that providers with several sets of certificates know.
	CertName string
	// WantRoot asks for Roots.
	WantRoot bool
	// WantIdentity asks for Certs.
	WantIdentity bool
}
