// SPDX-License-Identifier: Apache-2.0

package wrappers

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"sync"
	"time"
)

// identity is a certificate for the name "test.server", and the pool that trusts it.
var identity = sync.OnceValues(func() (tls.Certificate, *x509.CertPool) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"test.server"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		panic(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		panic(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, roots
})

// configs returns the configurations of TLS for both ends of a connection.
func configs() (server, client *tls.Config) {
	cert, roots := identity()
	protos := []string{"h2"}
	return &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: protos},
		&tls.Config{RootCAs: roots, ServerName: "test.server", NextProtos: protos}
}
