// SPDX-License-Identifier: Apache-2.0

package handshake

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/tls/certprovider"
	"google.golang.org/grpc/internal/xds/resource"
)

var (
	errClosed  = errors.New("xds: the configuration of the connection's security is no longer in use")
	errUnbuilt = errors.New("xds: the builder of a certificate provider has not returned")
)

// Server has the security settings for the connections of a filter chain. The first
// connection builds the certificate providers. If that fails, the next one tries it again.
// The methods are safe for concurrent use.
type Server struct {
	config *resource.ServerTLS
	all    Providers

	mu     sync.Mutex
	built  *built // nil until it is needed, and after it has failed
	closed bool
}

// built is a source that a goroutine of its own builds, as that may take longer than handshakes may wait.
type built struct {
	done   chan struct{} // closed when it is built, or has failed
	source *source       // Server.mu guards it until done is closed
	err    error         // immutable once done is closed
}

// NewServer returns the Server of a filter chain.
func NewServer(t *resource.ServerTLS, all Providers) *Server { return &Server{config: t, all: all} }

// Close releases the certificates. Handshakes that begin later fail.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	var old *source
	if s.built != nil {
		old = s.built.source
	}
	s.mu.Unlock()
	old.Close()
}

// use waits for the source, and keeps it open until its done is called.
func (s *Server) use(ctx context.Context) (*source, error) {
	b, err := s.begun(ctx)
	if err != nil {
		return nil, err
	}
	select {
	case <-b.done:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if b.err == nil && !b.source.use() {
		return nil, errClosed
	}
	return b.source, b.err
}

// begun returns the source, which may not be built yet.
func (s *Server) begun(ctx context.Context) (*built, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, errClosed
	case s.built == nil && ctx.Err() != nil: // those that have waited too long do not build a slow provider once more
		return nil, ctx.Err()
	case s.built == nil:
		s.built = &built{done: make(chan struct{})}
		go s.build(s.built)
	}
	return s.built, nil
}

func (s *Server) build(b *built) {
	defer close(b.done)
	var made *source
	err := errUnbuilt
	defer func() { s.settle(b, made, err).Close() }() // also if a builder ends the goroutine
	if made, err = newSource(s.config.Identity, s.config.Roots, s.all); err == nil {
		made.config = s.tlsConfig
	}
}

// settle stores what was built. It returns it if it is not needed any more, and otherwise nil.
func (s *Server) settle(b *built, made *source, err error) *source {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		b.err = errClosed
		return made
	}
	if err != nil {
		s.built = nil
	}
	b.source, b.err = made, err
	return nil
}

// Handshake secures a connection. It waits for certificates that have not been read yet. It
// closes rawConn if it fails.
func (s *Server) Handshake(ctx context.Context, rawConn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	source, err := s.use(ctx)
	if err != nil {
		rawConn.Close()
		return nil, nil, err
	}
	defer source.done()
	creds, err := source.credentials(ctx)
	if err != nil {
		rawConn.Close()
		return nil, nil, err
	}
	return creds.ServerHandshake(rawConn)
}

func (s *Server) tlsConfig(identity, roots *certprovider.KeyMaterial) (*tls.Config, error) {
	if identity == nil {
		return nil, errors.New("xds: the filter chain names no identity certificate")
	}
	c := &tls.Config{Certificates: identity.Certs, SessionTicketsDisabled: s.config.NoResumption}
	if roots == nil {
		return c, nil
	}
	if roots.SPIFFEBundleMap == nil && s.config.MaxDepth == 0 && !s.config.HideRoots {
		c.ClientAuth, c.ClientCAs = tls.VerifyClientCertIfGiven, roots.Roots
		if s.config.RequireClientCert {
			c.ClientAuth = tls.RequireAndVerifyClientCert
		}
		return c, nil
	}
	// crypto/tls can't do these checks: the roots depend on the certificate (A87), or the
	// depth of the chain is limited, or clients must not get the names of the roots.
	v := &verifier{roots: rootsOf(roots), depth: s.config.MaxDepth}
	c.ClientAuth, c.VerifyConnection = tls.RequestClientCert, v.client
	if s.config.RequireClientCert {
		c.ClientAuth = tls.RequireAnyClientCert
	}
	if roots.SPIFFEBundleMap == nil && !s.config.HideRoots {
		c.ClientCAs = roots.Roots // the server sends clients the names of these roots
	}
	return c, nil
}

// Conn is a connection of a listener that knows the connection's security settings.
type Conn interface {
	net.Conn
	// XDSHandshake returns the settings that secure the connection, or nil for the fallback
	// credentials. below is the connection over which the handshake runs. ctx ends when the
	// handshake must be done, and, if there is such a time, when the connection is closed.
	XDSHandshake() (ctx context.Context, s *Server, below net.Conn)
}
