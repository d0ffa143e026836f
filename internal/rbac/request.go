// SPDX-License-Identifier: Apache-2.0

package rbac

import (
	"context"
	"crypto/x509"
	"encoding/base64"
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

	// What matchers have asked for of the headers. A client sends a header of very many or of long values
	// for a few bytes, and a policy may ask for it in each of its rules.
	headers [fewHeaders]headerField
	asked   int                     // for how many; those of headers are the first
	more    map[string]*headerField // the others, by name
	md      metadata.MD             // all that the client sent, once more is needed
}

// fewHeaders is up to how many headers are looked for one by one, each in all that the client sent.
const fewHeaders = 4

// headerField is what the client sent under a name.
type headerField struct {
	name           string
	values         []string
	plain, encoded joinedText
}

// joinedText is values with commas between, once somebody has asked for that.
type joinedText struct {
	text  string
	known bool
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

// header returns what the client sent under a name, in lower case. Path and method are those of the
// request, "host" and ":authority" are one (A41). "te" is never there, as a hop-by-hop header.
func (r *Request) header(name string) *headerField {
	for i := range r.headers[:min(r.asked, fewHeaders)] {
		if r.headers[i].name == name {
			return &r.headers[i]
		}
	}
	if f := r.more[name]; f != nil {
		return f
	}
	var f *headerField
	if r.asked < fewHeaders {
		f = &r.headers[r.asked]
	} else {
		if r.more == nil {
			r.more = make(map[string]*headerField)
		}
		f = new(headerField)
		r.more[name] = f
	}
	f.name, f.values = name, r.look(name)
	r.asked++
	return f
}

func (r *Request) look(name string) []string {
	switch name {
	case ":path":
		return []string{r.method}
	case ":method":
		return []string{"POST"}
	case "te":
		return nil
	case "host":
		name = ":authority"
	}
	if r.asked < fewHeaders {
		return metadata.ValueFromIncomingContext(r.ctx, name)
	}
	if r.md == nil {
		r.md, _ = metadata.FromIncomingContext(r.ctx)
	}
	return r.md[name]
}

func (f *headerField) there() bool { return len(f.values) > 0 }

// text is the values joined with commas; encoded ones are as they are on the wire, in base64.
func (f *headerField) text(encoded bool) string {
	if !encoded {
		return f.plain.of(f.values)
	}
	if f.encoded.known {
		return f.encoded.text
	}
	values := make([]string, len(f.values))
	for i, v := range f.values {
		values[i] = base64.RawStdEncoding.EncodeToString([]byte(v))
	}
	return f.encoded.of(values)
}

func (t *joinedText) of(values []string) string {
	if !t.known {
		*t = joinedText{joined(values), true}
	}
	return t.text
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
