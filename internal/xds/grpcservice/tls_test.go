// SPDX-License-Identifier: Apache-2.0

package grpcservice

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/spiffe/go-spiffe/v2/bundle/spiffebundle"
	"github.com/spiffe/go-spiffe/v2/spiffeid"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/tls/certprovider"
)

// selfSigned returns a certificate for a.example.com and ::1, and for uri if that is not "".
func selfSigned(t *testing.T, uri string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"a.example.com"}, IPAddresses: []net.IP{net.IPv6loopback},
	}
	if uri != "" {
		u, err := url.Parse(uri)
		if err != nil {
			t.Fatal(err)
		}
		template.URIs = []*url.URL{u}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

// TestA87BundleMap: with a bundle map the server's certificate must be of a trust domain that is in it, and for the name of
// the target. Roots beside it are not used.
func TestA87BundleMap(t *testing.T) {
	for _, tt := range []struct{ name, uri, authority, err string }{
		{"trusted", "spiffe://domain/server", "a.example.com:443", ""},
		{"no port", "spiffe://domain/server", "a.example.com", ""},
		{"address", "spiffe://domain/server", "[::1]:443", ""},
		{"another name", "spiffe://domain/server", "b.example.com:443", "not b.example.com"},
		{"another address", "spiffe://domain/server", "127.0.0.1:443", "127.0.0.1"},
		{"another domain", "spiffe://elsewhere/server", "a.example.com:443", `no bundle for SPIFFE trust domain "elsewhere"`},
		{"no SPIFFE ID", "", "a.example.com:443", "no SPIFFE ID"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cert := selfSigned(t, tt.uri)
			bundle := spiffebundle.New(spiffeid.RequireTrustDomainFromString("domain"))
			bundle.AddX509Authority(cert.Leaf)
			roots := certprovider.NewDistributor()
			roots.Set(&certprovider.KeyMaterial{Roots: x509.NewCertPool(), SPIFFEBundleMap: map[string]*spiffebundle.Bundle{"domain": bundle}}, nil)
			client, server := net.Pipe()
			defer client.Close()
			go func() {
				config := &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2"}}
				if _, _, err := credentials.NewTLS(config).ServerHandshake(server); err != nil {
					server.Close()
				}
			}()
			p := &provided{roots: closing{roots}}
			_, _, err := p.ClientHandshake(t.Context(), tt.authority, client)
			if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
				t.Errorf("%v, want %q", err, tt.err)
			}
		})
	}
}

// TestEmptyBundleMap: an empty bundle map trusts nobody.
func TestEmptyBundleMap(t *testing.T) {
	roots := certprovider.NewDistributor()
	roots.Set(&certprovider.KeyMaterial{SPIFFEBundleMap: map[string]*spiffebundle.Bundle{}}, nil)
	config := &tls.Config{Certificates: []tls.Certificate{selfSigned(t, "spiffe://domain/server")}, MinVersion: tls.VersionTLS12}
	client, server := net.Pipe()
	defer client.Close()
	go func() {
		_ = tls.Server(server, config).Handshake()
		server.Close()
	}()
	if _, _, err := (&provided{roots: closing{roots}}).ClientHandshake(t.Context(), "a.example.com", client); err == nil {
		t.Error("a server is trusted")
	}
}
