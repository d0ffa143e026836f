// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"time"

	"google.golang.org/grpc/internal/tlsconn"
)

// secure is an end with TLS. Package tlsconn holds locks during calls that do not wait, on which others
// would wait while the bubble does not stand still: so its goroutines stop above it, and only where it
// waits below. A socket that takes a part would have it start a goroutine of its own, which waits for such a
// lock: sockets of such an end take all. All that the handshake sends has the same length each time.
func (s *socket) secure() (*recordsEnd, error) {
	s.below = true
	isServer := s.name[0] == 's'
	c, ok := tlsconn.Over(s, &identity, tlsconn.Options{Server: isServer, Release: true})
	if !ok {
		panic("a socket of the simulation is none for TLS")
	}
	if err := c.HandshakeContext(context.Background()); err != nil {
		_ = s.Close() // a fault may have
		return nil, err
	}
	s.w.reach(handshaken)
	return &recordsEnd{layer: c, s: s}, nil
}

// identity is of both sides. To know whether crypto/tls can be read from buffers of ours takes goroutines: it
// is found out about here, outside of all bubbles.
var identity = func() tls.Config {
	tlsconn.CanGiveBack()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: epoch.Add(24 * time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		panic(err)
	}
	return tls.Config{
		Certificates:       []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		CurvePreferences:   []tls.CurveID{tls.X25519},
		MinVersion:         tls.VersionTLS13,
		InsecureSkipVerify: true,
	}
}()
