// SPDX-License-Identifier: Apache-2.0

// Package credentials has TLS credentials for peers without ALPN, although RFC 9113 (section 3.2)
// requires ALPN. Like others they offer "h2", but they go on if the peer has chosen no protocol. They
// are for programs that must work with such peers until these are fixed, and must not be used for
// anything else.
//
// Experimental: this package goes away in a later release.
package credentials

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"

	"google.golang.org/grpc/credentials"
)

// withoutALPN is implemented by the credentials that credentials.NewTLS returns.
type withoutALPN interface {
	WithoutALPN() credentials.TransportCredentials
}

// NewTLSWithALPNDisabled is like credentials.NewTLS, for peers without ALPN.
func NewTLSWithALPNDisabled(c *tls.Config) credentials.TransportCredentials {
	creds := credentials.NewTLS(c)
	if w, ok := creds.(withoutALPN); ok {
		return w.WithoutALPN()
	}
	return creds
}

// NewClientTLSFromCertWithALPNDisabled is like credentials.NewClientTLSFromCert, for servers
// without ALPN.
func NewClientTLSFromCertWithALPNDisabled(cp *x509.CertPool, serverNameOverride string) credentials.TransportCredentials {
	return NewTLSWithALPNDisabled(&tls.Config{ServerName: serverNameOverride, RootCAs: cp})
}

// NewClientTLSFromFileWithALPNDisabled is like credentials.NewClientTLSFromFile, for servers
// without ALPN.
func NewClientTLSFromFileWithALPNDisabled(certFile, serverNameOverride string) (credentials.TransportCredentials, error) {
	text, err := os.ReadFile(certFile)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return nil, errors.New("credentials: failed to append certificates")
	}
	return NewClientTLSFromCertWithALPNDisabled(roots, serverNameOverride), nil
}

// NewServerTLSFromCertWithALPNDisabled is like credentials.NewServerTLSFromCert, for clients
// without ALPN.
func NewServerTLSFromCertWithALPNDisabled(cert *tls.Certificate) credentials.TransportCredentials {
	return NewTLSWithALPNDisabled(&tls.Config{Certificates: []tls.Certificate{*cert}})
}

// NewServerTLSFromFileWithALPNDisabled is like credentials.NewServerTLSFromFile, for clients
// without ALPN.
func NewServerTLSFromFileWithALPNDisabled(certFile, keyFile string) (credentials.TransportCredentials, error) {
	cert, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, err
	}
	return NewServerTLSFromCertWithALPNDisabled(&cert), nil
}
