// SPDX-License-Identifier: Apache-2.0

package side

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"sync"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// creds are those of both roles. Nobody looks at the certificate: the clock of a bubble begins in 2000.
func (s *side) creds() credentials.TransportCredentials {
	if !s.has(Secure) {
		return insecure.NewCredentials()
	}
	return credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{certificate()}, InsecureSkipVerify: true}) //nolint:gosec // see above
}

var certificate = sync.OnceValue(func() tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	cert := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)}
	der, err := x509.CreateCertificate(rand.Reader, cert, cert, &key.PublicKey, key)
	if err != nil {
		panic(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
})
