// SPDX-License-Identifier: Apache-2.0

package rbac

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"strings"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/internal/ctxkey"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
)

// Request is what matchers see of an RPC that a server has received. It determines each fact only when a
// matcher asks for it.
type Request struct {
	ctx    context.Context // carries the metadata
	peer   *peer.Peer
	method string

	named bool     // names has been determined
	names []string // the client's names; see principals

	// The fields below cache the headers that matchers have asked for. A client can send a header with
	// very many or very long values in a few bytes, and each rule of a policy may ask for that header.
	headers [fewHeaders]headerField
	asked   int                     // the number of headers asked for; the first fewHeaders of them are in headers
	more    map[string]*headerField // the remaining ones, by name
	md      metadata.MD             // all that the client sent; set once headers is full
}

// fewHeaders is the number of headers that look finds one by one in the incoming metadata. For further
// headers it copies the metadata once.
const fewHeaders = 4

// headerField is the header that the client sent under one name.
type headerField struct {
	name           string
	values         []string
	plain, encoded joinedText
}

// joinedText caches values joined with commas. It is filled when of is first called.
type joinedText struct {
	text  string
	known bool
}

// NewRequest returns a Request for the RPC whose handler has context ctx.
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

// header returns the header that the client sent under name, which must be in lower case. ":path" and
// ":method" are those of the HTTP/2 request. "host" means the same as ":authority" (A41). "te" is never
// present, because it is a hop-by-hop header.
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

// text returns the values joined with commas. If encoded is true, each value has the form that it has on
// the wire, base64.
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

// tls returns what the TLS handshake found out, and false if the connection does not use TLS.
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

// principals returns the client's names: the URIs in its certificate; if there are none, the DNS names;
// if there are none of these either, the subject in the form of RFC 2253. Without a certificate the only
// name is "". Without TLS there are no names.
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

// joined combines the values of a field that occurs several times into one (RFC 9110, section 5.3).
func joined(values []string) string {
	if len(values) == 1 {
		return values[0]
	}
	return strings.Join(values, ",")
}
