// SPDX-License-Identifier: Apache-2.0

package rbac

import (
	"context"
	"crypto/x509"
	"errors"
	"net"
	"net/netip"
	"strings"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/internal/ctxkey"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
)

// Request is what matchers see of an RPC that a server has received. Each fact is found
// when a matcher asks for it.
type Request struct {
	ctx    context.Context // has the metadata
	peer   *peer.Peer
	method string

	named bool     // names are there
	names []string // what the client's certificate calls it
}

// NewRequest returns the RPC of a handler's context.
func NewRequest(ctx context.Context, method string) (*Request, error) {
	p, ok := peer.FromContext(ctx)
	switch {
	case ctx.Value(ctxkey.IncomingMetadata{}) == nil:
		return nil, errors.New("missing metadata in incoming context")
	case !ok:
		return nil, errors.New("missing peer info in incoming context")
	case method == "":
		return nil, errors.New("missing method in incoming context")
	}
	return &Request{ctx: ctx, peer: p, method: method}, nil
}

// header returns what the client sent under a name, in lower case: several values joined
// with commas. Path and method are those of the request, "host" and ":authority" are one
// (A41). "te" is never there, as a hop-by-hop header.
func (r *Request) header(name string) ([]string, bool) {
	switch name {
	case ":path":
		return []string{r.method}, true
	case ":method":
		return []string{"POST"}, true
	case "te":
		return nil, false
	case "host":
		name = ":authority"
	}
	values := metadata.ValueFromIncomingContext(r.ctx, name)
	return values, len(values) > 0
}

// tls returns what the handshake learned, false if the connection has no TLS.
func (r *Request) tls() (credentials.TLSInfo, bool) {
	info, ok := r.peer.AuthInfo.(credentials.TLSInfo)
	return info, ok
}

func (r *Request) certificate() *x509.Certificate {
	if info, ok := r.tls(); ok && len(info.State.PeerCertificates) > 0 {
		return info.State.PeerCertificates[0]
	}
	return nil
}

// principals returns what the client is called: its certificate's URIs; without any, its
// DNS names; without any, its subject as RFC 2253 writes it. Without a certificate it is
// called "". It has no name without TLS.
func (r *Request) principals() []string {
	if r.named {
		return r.names
	}
	r.named = true
	if _, ok := r.tls(); ok {
		r.names = namesOf(r.certificate())
	}
	return r.names
}

func namesOf(cert *x509.Certificate) []string {
	switch {
	case cert == nil:
		return []string{""}
	case len(cert.URIs) > 0:
		names := make([]string, len(cert.URIs))
		for i, u := range cert.URIs {
			names[i] = u.String()
		}
		return names
	case len(cert.DNSNames) > 0:
		return cert.DNSNames
	}
	return []string{cert.Subject.String()}
}

func (r *Request) spiffeID() string {
	if info, ok := r.tls(); ok && info.SPIFFEID != nil {
		return info.SPIFFEID.String()
	}
	return ""
}

// address reads an IP address and a port; false for unix sockets and the like.
func address(a net.Addr) (netip.AddrPort, bool) {
	if tcp, ok := a.(*net.TCPAddr); ok {
		return unmapped(tcp.AddrPort()), true
	}
	if a == nil {
		return netip.AddrPort{}, false
	}
	ap, err := netip.ParseAddrPort(a.String())
	return unmapped(ap), err == nil
}

// unmapped makes ::ffff:10.0.0.1, as a dual-stack listener shows it, what it is.
func unmapped(ap netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(ap.Addr().Unmap().WithZone(""), ap.Port())
}

// joined is a field of several values as one (RFC 9110, section 5.3).
func joined(values []string) string {
	if len(values) == 1 {
		return values[0]
	}
	return strings.Join(values, ",")
}
