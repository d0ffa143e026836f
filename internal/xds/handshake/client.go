// SPDX-License-Identifier: Apache-2.0

// Package handshake passes the security settings that a control plane sent to credentials/xds, which does
// the handshake of a connection (gRFC A29, with A65, A82, A87 and A101). On a client the cluster's
// balancing policy puts them into the attributes of the addresses that the channel dials: see [Client]. On a
// server the listener attaches them to the connections that it accepts: see [Server].
//
// Certificates come from the certificate provider instances that resources name. The process shares the
// providers. A new provider is built only if a resource asks for different certificates.
package handshake

import (
	"cmp"
	"context"
	"crypto/tls"
	"net"
	"slices"
	"sync"

	"google.golang.org/grpc/attributes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/tls/certprovider"
	"google.golang.org/grpc/internal/xds/resource"
	"google.golang.org/grpc/resolver"
)

// Client has the security settings for connections to a cluster's endpoints. The policy of the cluster owns
// it and passes it the cluster's updates. An update applies to connections that are made afterwards;
// existing connections stay as they are. The zero value has no security: connections use the fallback
// credentials. The methods are safe for concurrent use.
type Client struct {
	mu      sync.Mutex
	config  *resource.ClientTLS // nil means no security
	source  *source             // nil if config is nil, or if there is err
	err     error               // why config cannot be used
	stopped bool
}

// Set takes over the settings of the cluster; t is nil if it has none. If a certificate provider cannot be
// built, handshakes fail with the error that Set returns, until Set is called again and succeeds. They use
// neither the settings before nor the fallback credentials, as both may be weaker than what the control plane
// asks for. After Close Set does nothing. Only one call of Set may run at a time.
func (c *Client) Set(t *resource.ClientTLS, all Providers) error {
	if c.keeps(t) {
		return nil
	}
	var s *source
	var err error
	if t != nil { // building a provider may take long: handshakes do not wait
		if s, err = newSource(t.Identity, t.Roots, all); err == nil {
			s.config = clientConfig(t)
		}
	}
	c.replace(t, s, err).Close()
	return err
}

// keeps reports whether Set has nothing to do for t.
func (c *Client) keeps(t *resource.ClientTLS) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stopped || c.err == nil && sameTLS(c.config, t)
}

// replace returns the source that is not needed any more, or nil.
func (c *Client) replace(t *resource.ClientTLS, s *source, err error) *source {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return s
	}
	old := c.source
	c.config, c.source, c.err = t, s, err
	return old
}

// Close releases the certificates. Handshakes that begin later fail if they need any.
func (c *Client) Close() {
	c.mu.Lock()
	c.stopped = true
	s := c.source
	c.mu.Unlock()
	s.Close()
}

func sameTLS(a, b *resource.ClientTLS) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Identity == b.Identity && a.Roots == b.Roots && a.SNI == b.SNI && a.AutoHostSNI == b.AutoHostSNI &&
		a.AutoSANValidation == b.AutoSANValidation && a.MaxDepth == b.MaxDepth && slices.EqualFunc(a.SANs, b.SANs, resource.SAN.Equal)
}

// Handshake secures a connection. hostname is the hostname of the endpoint, or "". Handshake waits for
// certificates that have not been read yet. It closes rawConn if it fails. If the cluster has no security,
// it does nothing and ok is false.
func (c *Client) Handshake(ctx context.Context, hostname string, rawConn net.Conn) (conn net.Conn, info credentials.AuthInfo, ok bool, err error) {
	c.mu.Lock()
	s, t, kept := c.source, c.config, c.err
	using := s != nil && s.use()
	c.mu.Unlock()
	if t == nil {
		return nil, nil, false, nil
	}
	if !using {
		rawConn.Close()
		return nil, nil, true, cmp.Or(kept, errClosed)
	}
	defer s.done()
	creds, err := s.credentials(ctx)
	if err != nil {
		rawConn.Close()
		return nil, nil, true, err
	}
	conn, info, err = creds.ClientHandshake(ctx, serverName(t, hostname), rawConn)
	return conn, info, true, err
}

// serverName returns the name to send in SNI, or "" for none (A101).
func serverName(t *resource.ClientTLS, hostname string) string {
	if !t.AutoHostSNI || hostname == "" {
		return t.SNI
	}
	if host, _, err := net.SplitHostPort(hostname); err == nil {
		return host
	}
	return hostname
}

// clientConfig returns a function that makes TLS configurations. They disable the verification of
// crypto/tls, which would require the name of the server, and verify certificates in VerifyConnection.
func clientConfig(t *resource.ClientTLS) func(identity, roots *certprovider.KeyMaterial) (*tls.Config, error) {
	return func(identity, roots *certprovider.KeyMaterial) (*tls.Config, error) {
		v := &verifier{roots: rootsOf(roots), depth: t.MaxDepth, sans: t.SANs, autoSAN: t.AutoSANValidation}
		c := &tls.Config{InsecureSkipVerify: true, VerifyConnection: v.server} //nolint:gosec // VerifyConnection does
		if identity != nil {
			c.Certificates = identity.Certs
		}
		return c, nil
	}
}

type addressKey struct{}

// ofAddress is what SetAddress attaches to an address.
type ofAddress struct {
	client   *Client
	hostname string
}

// SetAddress returns addr with c attached, which will secure connections to it. hostname is the hostname of
// the endpoint, with or without a port, or "" if it has none.
func SetAddress(addr resolver.Address, c *Client, hostname string) resolver.Address {
	addr.Attributes = addr.Attributes.WithValue(addressKey{}, ofAddress{c, hostname})
	return addr
}

// OfAddress returns what SetAddress has attached to an address. c is nil if it has attached nothing.
func OfAddress(attrs *attributes.Attributes) (c *Client, hostname string) {
	a, _ := attrs.Value(addressKey{}).(ofAddress)
	return a.client, a.hostname
}
