// SPDX-License-Identifier: Apache-2.0

package grpcwire

import (
	"iter"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Encodings yields the names in a grpc-accept-encoding value, in order, without the
// whitespace around them and without empty ones. The pieces alias v.
func Encodings[T Text](v T) iter.Seq[T] {
	return func(yield func(T) bool) {
		for len(v) > 0 {
			head := upTo(v, ',')
			v = v[min(len(head)+1, len(v)):]
			if name := trimSpace(head); len(name) > 0 && !yield(name) {
				return
			}
		}
	}
}

// AcceptsEncoding reports whether a peer that sent the grpc-accept-encoding value list can
// read messages in the named encoding. Everyone reads identity. Names compare with case,
// as compressors are registered.
func AcceptsEncoding[T Text](list T, name string) bool {
	if name == "" || name == EncodingIdentity {
		return true
	}
	for one := range Encodings(list) {
		if string(one) == name {
			return true
		}
	}
	return false
}

// CheckCompressed judges the Compressed-Flag of a compressed message against the grpc-encoding of
// its stream: "If the Message-Encoding header is omitted then the Compressed-Flag must
// be 0", and identity compresses nothing. The error has code Internal.
func CheckCompressed(encoding string) error {
	if encoding == "" || encoding == EncodingIdentity {
		return status.Error(codes.Internal, "grpc: compressed flag set with identity or empty encoding")
	}
	return nil
}

// UnsupportedEncoding returns the status for a stream whose messages cannot be decompressed. compression.md
// asks for codes.Unimplemented where a server says so to its client, and for codes.Internal on a client.
func UnsupportedEncoding(code codes.Code, encoding string) *status.Status {
	return status.Newf(code, "grpc: Decompressor is not installed for grpc-encoding %q", clip(encoding))
}
