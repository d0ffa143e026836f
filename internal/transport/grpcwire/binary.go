// SPDX-License-Identifier: Apache-2.0

package grpcwire

import (
	"encoding/base64"
	"fmt"
	"iter"
	"strings"
)

// binarySuffix ends the name of every header field whose value travels as base64.
const binarySuffix = "-bin"

// IsBinary reports whether the values of the named field are arbitrary bytes.
func IsBinary(name string) bool { return strings.HasSuffix(name, binarySuffix) }

// AppendBinary appends the base64 form of a "-bin" value, without padding ("should emit
// un-padded values").
func AppendBinary[T Text](dst []byte, v T) []byte {
	return base64.RawStdEncoding.AppendEncode(dst, []byte(v))
}

// binaryLen returns the number of bytes that AppendBinary adds for n bytes.
func binaryLen(n int) int { return base64.RawStdEncoding.EncodedLen(n) }

// decodeBinary decodes one base64 value, padded or not ("Implementations MUST accept
// padded and un-padded values"). The result is a new slice. For a field that may hold
// several values joined by commas see [BinaryValues].
func decodeBinary[T Text](v T) ([]byte, error) {
	return AppendDecodedBinary(nil, v)
}

// AppendDecodedBinary is decodeBinary into memory of the caller. On error dst comes
// back as it was given.
func AppendDecodedBinary[T Text](dst []byte, v T) ([]byte, error) {
	enc := base64.RawStdEncoding
	if n := len(v); n > 0 && n%4 == 0 && v[n-1] == '=' {
		enc = base64.StdEncoding
	}
	// The decoder of the standard library skips line ends; field values have none, and
	// a lenient reading would let two spellings through for nothing.
	for i := range len(v) {
		if v[i] == '\r' || v[i] == '\n' {
			return dst, fmt.Errorf("line end at byte %d", i)
		}
	}
	out, err := enc.AppendDecode(dst, []byte(v))
	if err != nil {
		return dst, err
	}
	return out, nil
}

// BinaryValues yields the still encoded values of a "-bin" field: duplicates may arrive
// joined with commas, and have to be split before they are decoded. An empty field is
// one empty value. The pieces alias v.
func BinaryValues[T Text](v T) iter.Seq[T] {
	return func(yield func(T) bool) {
		start := 0
		for i := 0; i <= len(v); i++ {
			if i < len(v) && v[i] != ',' {
				continue
			}
			if !yield(trimSpace(v[start:i])) {
				return
			}
			start = i + 1
		}
	}
}

// AppendBinaryValues decodes every value of a "-bin" field and appends them to dst.
func AppendBinaryValues[T Text](dst []string, v T) ([]string, error) {
	for piece := range BinaryValues(v) {
		value, err := decodeBinary(piece)
		if err != nil {
			return dst, err
		}
		dst = append(dst, string(value))
	}
	return dst, nil
}

// trimSpace removes the optional whitespace of HTTP (RFC 9110 section 5.6.3).
func trimSpace[T Text](v T) T {
	for len(v) > 0 && (v[0] == ' ' || v[0] == '\t') {
		v = v[1:]
	}
	for len(v) > 0 && (v[len(v)-1] == ' ' || v[len(v)-1] == '\t') {
		v = v[:len(v)-1]
	}
	return v
}
