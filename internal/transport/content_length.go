// SPDX-License-Identifier: Apache-2.0

package transport

import "strconv"

// contentLength is how many bytes of a body are still to come, according to its content-length field;
// noLength if it has no such field.
//
// RFC 9113 section 8.1.1: "A request or response is also malformed if the value of a
// Content-Length header field does not equal the sum of the DATA frame payload lengths
// that form the content".
type contentLength int64

const noLength contentLength = -1

// arrived subtracts n bytes.
func (l *contentLength) arrived(n int) error {
	if *l < 0 {
		return nil
	}
	if *l -= contentLength(n); *l < 0 {
		return malformed("more than content-length says")
	}
	return nil
}

// over checks, at the end of the body, that nothing is missing.
func (l contentLength) over() error {
	if l > 0 {
		return malformed("less than content-length says")
	}
	return nil
}

// parseLength reads a content-length. A second one must be the same (RFC 9110 section 8.6).
func parseLength(dst *int64, v []byte) error {
	n, err := strconv.ParseUint(string(v), 10, 63)
	if err != nil || *dst >= 0 && *dst != int64(n) {
		return malformed("malformed content-length")
	}
	*dst = int64(n)
	return nil
}
