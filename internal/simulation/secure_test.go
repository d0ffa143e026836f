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
	"google.golang.org/grpc/mem"
)

// secureEnd is an end with TLS. Package tlsconn holds locks during calls that do not wait, on which others
// would wait while the bubble does not stand still: so its goroutines stop above it, and only where it
// waits below. A socket that takes a part would have it start a goroutine of its own, which waits for such a
// lock: sockets of such an end take all. What the observer sees is not encrypted.
type secureEnd struct {
	*tlsconn.Conn
	s *socket
}

// secure makes the handshake. All that it sends has the same length each time.
func (s *socket) secure() (*secureEnd, error) {
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
	return &secureEnd{Conn: c, s: s}, nil
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

// TryRead implements readyreader.Layer.
func (e *secureEnd) TryRead(size int, pool mem.BufferPool) (*[]byte, int, error) {
	e.s.w.yield(atTryRead, e.s)
	return e.Conn.TryRead(size, pool)
}

// TryReadInto implements readyreader.Layer.
func (e *secureEnd) TryReadInto(p []byte) (int, error) {
	e.s.w.yield(atTryRead, e.s)
	return e.Conn.TryReadInto(p)
}

// TryWrite implements readyreader.Layer.
func (e *secureEnd) TryWrite(p []byte) (int, error) {
	e.s.w.yield(atTryWrite, e.s)
	n, err := e.Conn.TryWrite(p)
	e.s.observe([][]byte{p}, n)
	return n, err
}

// TryWriteVector implements readyreader.Layer.
func (e *secureEnd) TryWriteVector(pieces [][]byte) (int, error) {
	e.s.w.yield(atTryWrite, e.s)
	all := append([][]byte(nil), pieces...)
	n, err := e.Conn.TryWriteVector(pieces)
	e.s.observe(all, n)
	return n, err
}

// Write implements net.Conn.
func (e *secureEnd) Write(p []byte) (int, error) {
	e.s.observe([][]byte{p}, len(p)) // the peer may read the first of it before all is written
	return e.Conn.Write(p)
}

// WriteVector implements readyreader.Layer.
func (e *secureEnd) WriteVector(pieces [][]byte) (int, error) {
	e.s.observe(pieces, lengthOf(pieces))
	return e.Conn.WriteVector(pieces)
}

// observe shows the first n bytes of the pieces, which are not encrypted.
func (s *socket) observe(pieces [][]byte, n int) {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	for _, p := range pieces {
		k := min(n, len(p))
		s.watch.wrote(p[:k])
		n -= k
	}
}

func lengthOf(pieces [][]byte) (n int) {
	for _, p := range pieces {
		n += len(p)
	}
	return n
}
