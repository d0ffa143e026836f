// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"iter"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/ctxkey"
	"google.golang.org/grpc/internal/transport/grpcwire"
	"google.golang.org/grpc/internal/transport/h2"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
)

// These names are what the packages above need to know of the wire; the rules themselves are in package
// grpcwire.

const (
	// FramingLen is how many bytes a message takes on the wire in addition to its own.
	FramingLen = grpcwire.PrefixLen
	// MaxMessageLen is the longest message that there can be.
	MaxMessageLen = grpcwire.MaxMessageLen
)

// Message is a received message. Its receiver has to free its data.
type Message = grpcwire.Message

// Pieces is a message to send.
type Pieces = h2.Pieces

// OnePiece returns a message that lies in b.
func OnePiece(b mem.Buffer) Pieces { return h2.OnePiece(b) }

// PiecesOf returns s as a message. Both hold the same references.
func PiecesOf(s mem.BufferSlice) Pieces { return h2.PiecesOf(s) }

// UserAgent returns the user-agent value: the module's own, with its version, behind prefix,
// which is what the application asked for with a space at its end, or empty.
func UserAgent(prefix, version string) string { return grpcwire.UserAgent(prefix, version) }

// Quoted returns what of a text that a peer sent is quoted in a status.
func Quoted(text string) string { return grpcwire.Quoted(text) }

// SplitMethod splits "/package.Service/Method".
func SplitMethod(path string) (service, method string, ok bool) { return grpcwire.SplitPath(path) }

// AuthorityIn returns the :authority in md, "" if it has none.
func AuthorityIn(md metadata.MD) string {
	if a := md[grpcwire.HeaderAuthority]; len(a) > 0 {
		return a[0]
	}
	return ""
}

// SetPicked makes the next attempt carry the picker's metadata, and no credentials yet. An :authority in it
// becomes the attempt's.
func (c *Call) SetPicked(md metadata.MD) {
	c.Auth, c.Picked = c.Auth[:0], c.Picked[:0]
	c.Authority = AuthorityIn(md)
	for k, values := range md {
		if k == grpcwire.HeaderAuthority {
			continue
		}
		for _, v := range values {
			c.Picked = append(c.Picked, k, v)
		}
	}
}

// AddAuth makes the next attempt carry what credentials gave, without names that belong to the transport. Of
// the fields in c.Auth[from:] it replaces those that have the same name.
func (c *Call) AddAuth(fields map[string]string, from int) {
	for k, v := range fields {
		if k = strings.ToLower(k); !grpcwire.IsReserved(k) {
			c.setAuth(k, v, from)
		}
	}
}

func (c *Call) setAuth(k, v string, from int) {
	for i := from; i+1 < len(c.Auth); i += 2 {
		if c.Auth[i] == k {
			c.Auth[i+1] = v
			return
		}
	}
	c.Auth = append(c.Auth, k, v)
}

// Sent returns the metadata of an attempt as observers may see it: without what per-RPC
// credentials add, which is secret.
func (c *Call) Sent(ctx context.Context, userAgent string) metadata.MD {
	md := metadata.MD(ctxkey.OutgoingFrom(ctx).CopyMD())
	md.Set(grpcwire.HeaderUserAgent, userAgent)
	for i := 0; i+1 < len(c.Picked); i += 2 {
		md.Append(c.Picked[i], c.Picked[i+1])
	}
	return md
}

// CheckCompressed refuses a compressed message on a stream that has no encoding.
func CheckCompressed(encoding string) error { return grpcwire.CheckCompressed(encoding) }

// UnknownEncoding returns the error for messages in an encoding that nobody here can read.
func UnknownEncoding(code codes.Code, encoding string) error {
	return grpcwire.UnsupportedEncoding(code, encoding).Err()
}

// RefuseEncoding is UnknownEncoding for a call of a server. The trailers tell the client what it can use
// (compression.md): accepted lists that.
func RefuseEncoding(st interface{ SetTrailer(metadata.MD) error }, encoding, accepted string) error {
	if accepted != "" {
		_ = st.SetTrailer(metadata.Pairs(grpcwire.HeaderAcceptEncoding, accepted)) // nothing is sent yet
	}
	return UnknownEncoding(codes.Unimplemented, encoding)
}

// AcceptsEncoding reports whether a client with this list of encodings can read name.
func AcceptsEncoding(list, name string) bool { return grpcwire.AcceptsEncoding(list, name) }

// Encodings yields the names in such a list.
func Encodings(list string) iter.Seq[string] { return grpcwire.Encodings(list) }
