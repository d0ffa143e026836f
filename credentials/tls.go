// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/grpclog"
	credinternal "google.golang.org/grpc/internal/credentials"
	"google.golang.org/grpc/internal/envconfig"
	"google.golang.org/grpc/internal/tlsconn"
)

// NewTLS returns credentials that use a copy of c, which may be nil, with these
// additions: ALPN offers and accepts "h2"; the least version is 1.2 unless c sets
// one, or a greatest version below that; and without CipherSuites in c, those that
// RFC 9113 (appendix A) rejects are left out. What c.GetConfigForClient returns gets
// the same.
//
// A client verifies the server by c.ServerName if that is set, by the channel's
// authority otherwise.
//
// Peers that don't negotiate ALPN are refused unless the environment variable
// GRPC_ENFORCE_ALPN_ENABLED is "false".
func NewTLS(c *tls.Config) TransportCredentials {
	config := withDefaults(c)
	if perClient := config.GetConfigForClient; perClient != nil {
		config.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			hello.Conn = tlsconn.Underlying(hello.Conn)
			c, err := perClient(hello)
			if err != nil || c == nil {
				return nil, err
			}
			return withDefaults(c), nil
		}
	}
	return &tlsCreds{config: config, requireALPN: envconfig.EnforceALPN}
}

// NewClientTLSFromCert returns credentials for a client that trusts the roots in cp,
// the system's if cp is nil. A serverNameOverride that is not empty replaces the
// authority when the server is verified, and on the wire; it is meant for tests.
func NewClientTLSFromCert(cp *x509.CertPool, serverNameOverride string) TransportCredentials {
	return NewTLS(&tls.Config{ServerName: serverNameOverride, RootCAs: cp})
}

// NewClientTLSFromFile is NewClientTLSFromCert with the roots in a PEM file.
func NewClientTLSFromFile(certFile, serverNameOverride string) (TransportCredentials, error) {
	pem, err := os.ReadFile(certFile)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("credentials: no certificate in %s", certFile)
	}
	return NewClientTLSFromCert(roots, serverNameOverride), nil
}

// NewServerTLSFromCert returns credentials for a server with one certificate.
func NewServerTLSFromCert(cert *tls.Certificate) TransportCredentials {
	return NewTLS(&tls.Config{Certificates: []tls.Certificate{*cert}})
}

// NewServerTLSFromFile is NewServerTLSFromCert with certificate and key in PEM files.
func NewServerTLSFromFile(certFile, keyFile string) (TransportCredentials, error) {
	cert, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, err
	}
	return NewServerTLSFromCert(&cert), nil
}

type tlsCreds struct {
	config      *tls.Config // never changed after NewTLS, but by OverrideServerName
	requireALPN bool

	named namedConfigs
}

// namedConfigs are copies of a config for the servers that were connected to last. A
// connection keeps its config, and those to the same server need one only.
type namedConfigs struct {
	mu     sync.Mutex
	recent [4]*tls.Config
	next   int
}

// get returns a copy of c with a server's name in it. It must not be changed.
func (n *namedConfigs) get(c *tls.Config, server string) *tls.Config {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, r := range n.recent {
		if r != nil && r.ServerName == server {
			return r
		}
	}
	c = c.Clone()
	c.ServerName = server
	n.recent[n.next] = c
	n.next = (n.next + 1) % len(n.recent)
	return c
}

func (c *tlsCreds) Info() ProtocolInfo {
	return ProtocolInfo{SecurityProtocol: "tls", SecurityVersion: "1.2", ServerName: c.config.ServerName}
}

func (c *tlsCreds) Clone() TransportCredentials {
	return &tlsCreds{config: c.config.Clone(), requireALPN: c.requireALPN}
}

// WithoutALPN returns a copy for peers that need not do ALPN. It is what package
// experimental/credentials is made of.
func (c *tlsCreds) WithoutALPN() TransportCredentials {
	return &tlsCreds{config: c.config.Clone()}
}

func (c *tlsCreds) OverrideServerName(name string) error {
	c.config.ServerName = name
	return nil
}

func (c *tlsCreds) ClientHandshake(ctx context.Context, authority string, rawConn net.Conn) (net.Conn, AuthInfo, error) {
	config := c.config
	if config.ServerName == "" {
		host, _, err := net.SplitHostPort(authority)
		if err != nil {
			host = authority // without a port
		}
		config = c.named.get(config, host)
	}
	return c.handshake(ctx, newTLSConn(rawConn, config, clientSide))
}

func (c *tlsCreds) ServerHandshake(rawConn net.Conn) (net.Conn, AuthInfo, error) {
	// The deadline is on rawConn.
	return c.handshake(context.Background(), newTLSConn(rawConn, c.config, serverSide))
}

type side bool

const (
	clientSide side = false
	serverSide side = true
)

var logger = grpclog.Component("credentials")

// standAside says, once, why this version of Go has a crypto/tls whose buffers can't be
// released.
type standAside struct{ told atomic.Bool }

var stoodAside standAside

// tell logs why, the first time, unless it is nil.
func (s *standAside) tell(log interface{ Warningf(string, ...any) }, why error) {
	if why != nil && s.told.CompareAndSwap(false, true) {
		log.Warningf("idle TLS connections keep the buffers of crypto/tls, which in %s is not as it is known: %v", runtime.Version(), why)
	}
}

// secureConn is a *tls.Conn or a *tlsconn.Conn.
type secureConn interface {
	net.Conn
	HandshakeContext(context.Context) error
	ConnectionState() tls.ConnectionState
}

// newTLSConn is the only place where TLS is put over a connection. A plain socket
// gets the kind of TLS connection that holds no buffers while it is idle.
func newTLSConn(rawConn net.Conn, config *tls.Config, s side) secureConn {
	if envconfig.HTTPFramerReadBufferPooling {
		opts := tlsconn.Options{Server: s == serverSide, Release: envconfig.TLSIdleRelease, Rest: envconfig.TLSIdleCiphers}
		if opts.Release {
			stoodAside.tell(logger, tlsconn.StoodAside())
		}
		if c, ok := tlsconn.New(rawConn, config, opts); ok {
			return c
		}
	}
	if s == serverSide {
		return tls.Server(rawConn, config)
	}
	return tls.Client(rawConn, config)
}

// handshake closes conn, and with it the raw connection, on every error.
func (c *tlsCreds) handshake(ctx context.Context, conn secureConn) (net.Conn, AuthInfo, error) {
	if err := conn.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, nil, err
	}
	state := conn.ConnectionState()
	if state.NegotiatedProtocol == "" && c.requireALPN {
		conn.Close()
		return nil, nil, errNoALPN
	}
	return conn, c.InfoOf(state), nil
}

// InfoOf is the TLSInfo of a connection whose handshake somebody else has run. It is what
// package experimental/oneport is made of.
func (c *tlsCreds) InfoOf(state tls.ConnectionState) AuthInfo {
	return TLSInfo{
		State:          state,
		CommonAuthInfo: CommonAuthInfo{SecurityLevel: PrivacyAndIntegrity},
		SPIFFEID:       credinternal.SPIFFEIDFromState(state),
	}
}

var errNoALPN = errors.New(`credentials: cannot check peer: missing selected ALPN property: the peer does not negotiate "h2" (RFC 9113, section 3.2); GRPC_ENFORCE_ALPN_ENABLED=false allows such peers`)

// withDefaults returns a copy of c, which may be nil, with what HTTP/2 needs.
func withDefaults(c *tls.Config) *tls.Config {
	c = credinternal.CloneTLSConfig(c)
	c.NextProtos = credinternal.AppendH2ToNextProtos(c.NextProtos)
	// RFC 9113, section 9.2: "Implementations of HTTP/2 MUST use TLS version 1.2
	// [TLS12] or higher for HTTP/2 over TLS."
	if c.MinVersion == 0 && (c.MaxVersion == 0 || c.MaxVersion >= tls.VersionTLS12) {
		c.MinVersion = tls.VersionTLS12
	}
	if c.CipherSuites == nil {
		c.CipherSuites = cipherSuites()
	}
	// Many records leave in one write: small ones only cost.
	c.DynamicRecordSizingDisabled = true
	tlsconn.ShowSocket(c)
	return c
}

// cipherSuites are Go's secure ones without those on the list of RFC 9113, appendix
// A: what has no forward secrecy, and CBC.
var cipherSuites = sync.OnceValue(func() []uint16 {
	var ids []uint16
	for _, s := range tls.CipherSuites() {
		if slices.Contains(s.SupportedVersions, tls.VersionTLS13) ||
			strings.HasPrefix(s.Name, "TLS_ECDHE_") && !strings.Contains(s.Name, "_CBC_") {
			ids = append(ids, s.ID)
		}
	}
	return ids
})
