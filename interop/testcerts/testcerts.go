// SPDX-License-Identifier: Apache-2.0

// Package testcerts makes a certificate authority and a server certificate for one test
// run. The sources contain no certificates and keys, so none can expire or leak.
package testcerts

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// ServerName is a name that the server certificate is valid for. It is also valid for localhost
// and the loopback addresses.
const ServerName = "interop.test"

// lifetime is how long before and after its creation a certificate is valid. It is valid before
// because clocks may differ.
const lifetime = 24 * time.Hour

// Files are the paths of PEM files.
type Files struct {
	CA   string // the authority's certificate
	Cert string // the server's certificate
	Key  string // the server's private key, readable by the owner only
}

// Write makes a new authority and a server certificate signed by it, and writes them into
// dir. It does not write the authority's key, which nothing else needs.
func Write(dir string) (Files, error) {
	f := Files{
		CA:   filepath.Join(dir, "ca.pem"),
		Cert: filepath.Join(dir, "server.pem"),
		Key:  filepath.Join(dir, "server-key.pem"),
	}
	ca, caKey, err := newCA()
	if err != nil {
		return Files{}, err
	}
	cert, key, err := newServer(ca, caKey)
	if err != nil {
		return Files{}, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return Files{}, err
	}
	for _, b := range []struct {
		path, kind string
		der        []byte
	}{
		{f.CA, "CERTIFICATE", ca.Raw},
		{f.Cert, "CERTIFICATE", cert},
		{f.Key, "PRIVATE KEY", keyDER},
	} {
		block := pem.EncodeToMemory(&pem.Block{Type: b.kind, Bytes: b.der})
		if err := os.WriteFile(b.path, block, 0o600); err != nil {
			return Files{}, err
		}
	}
	return f, nil
}

func newCA() (*x509.Certificate, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "interop test authority"},
		NotBefore:             now.Add(-lifetime),
		NotAfter:              now.Add(lifetime),
		KeyUsage:              x509.KeyUsageCertSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, nil, err
	}
	cert, err := x509.ParseCertificate(der)
	return cert, key, err
}

func newServer(ca *x509.Certificate, caKey *ecdsa.PrivateKey) (der []byte, key *ecdsa.PrivateKey, err error) {
	if key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2),
		Subject:      pkix.Name{CommonName: ServerName},
		NotBefore:    ca.NotBefore,
		NotAfter:     ca.NotAfter,
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:     []string{ServerName, "localhost"},
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	der, err = x509.CreateCertificate(rand.Reader, template, ca, key.Public(), caKey)
	return der, key, err
}
