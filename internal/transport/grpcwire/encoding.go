// SPDX-License-Identifier: Apache-2.0

package grpcwire

import "iter"

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

// AppendEncodings appends a grpc-accept-encoding value for names, separated by commas.
func AppendEncodings(dst []byte, names ...string) []byte {
	start := len(dst)
	for _, name := range names {
		if name == "" {
			continue
		}
		if len(dst) > start {
			dst = append(dst, ',')
		}
		dst = append(dst, name...)
	}
	return dst
}
