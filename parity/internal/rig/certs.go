// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"sync"
	"time"
)

// Certificate is one for probe.example and 127.0.0.1, and a pool that trusts it.
var Certificate = sync.OnceValues(func() (tls.Certificate, *x509.CertPool) { return CertificateWith(nil) })

// CertificateWith is another such certificate, with a change.
func CertificateWith(change func(*x509.Certificate)) (tls.Certificate, *x509.CertPool) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	return CertificateOf(key, change)
}

// CertificateOf is one with the key. change may be nil.
func CertificateOf(key crypto.Signer, change func(*x509.Certificate)) (tls.Certificate, *x509.CertPool) {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "probe"}, DNSNames: []string{"probe.example"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	if change != nil {
		change(template)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		panic(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		panic(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, pool
}
