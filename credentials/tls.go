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

// NewTLS returns TLS credentials that use a copy of c, with these additions:
//   - ALPN offers and accepts "h2".
//   - MinVersion is TLS 1.2, unless c sets MinVersion, or a MaxVersion below 1.2.
//   - If c sets no CipherSuites, the suites that RFC 9113 (appendix A) prohibits are left out.
//
// The configurations that c.GetConfigForClient returns get the same additions. A nil c means
// an empty configuration.
//
// A client verifies the server by c.ServerName if that is set, and by the channel's
// authority otherwise.
//
// The handshake fails if the peer does not negotiate ALPN, unless the environment variable
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

// NewClientTLSFromCert returns credentials for a client that trusts the roots in cp. A nil
// cp means the system's roots. A serverNameOverride that is not empty replaces the
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
	config      *tls.Config // after NewTLS only OverrideServerName changes it
	requireALPN bool

	named namedConfigs
}

// namedConfigs caches copies of a config for the servers that were connected to last. A
// connection holds on to its config; connections to the same server share one.
type namedConfigs struct {
	mu     sync.Mutex
	recent [4]*tls.Config
	next   int
}

// get returns a copy of c with a server's name in it. The caller must not change it, because
// others share it.
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

// WithoutALPN returns a copy that accepts peers that do not negotiate ALPN. Package
// experimental/credentials uses it.
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
	// The context needs no deadline: the server has set one on rawConn.
	return c.handshake(context.Background(), newTLSConn(rawConn, c.config, serverSide))
}

type side bool

const (
	clientSide side = false
	serverSide side = true
)

var logger = grpclog.Component("credentials")

// standAside logs, once, why the buffers of this Go version's crypto/tls can't be released.
type standAside struct{ told atomic.Bool }

var stoodAside standAside

// tell logs the error why, once: the first time that why is not nil.
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

// newTLSConn puts TLS over rawConn; no other function does so. Over a plain socket it returns
// a *tlsconn.Conn, which holds no buffers while it is idle.
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

// InfoOf returns the TLSInfo of a connection whose handshake is complete. Package
// experimental/oneport calls it for handshakes that other code has run.
func (c *tlsCreds) InfoOf(state tls.ConnectionState) AuthInfo {
	return TLSInfo{
		State:          state,
		CommonAuthInfo: CommonAuthInfo{SecurityLevel: PrivacyAndIntegrity},
		SPIFFEID:       credinternal.SPIFFEIDFromState(state),
	}
}

var errNoALPN = errors.New(`credentials: cannot check peer: missing selected ALPN property: the peer does not negotiate "h2" (RFC 9113, section 3.2); GRPC_ENFORCE_ALPN_ENABLED=false allows such peers`)

// withDefaults returns a copy of c with the additions that NewTLS documents. c may be nil.
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
	// One write sends many records, so small records would only add overhead.
	c.DynamicRecordSizingDisabled = true
	tlsconn.ShowSocket(c)
	return c
}

// cipherSuites returns Go's secure cipher suites without those that RFC 9113, appendix A,
// prohibits: suites without forward secrecy, and suites with CBC.
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
