// SPDX-License-Identifier: Apache-2.0

package grpcwire

import "unicode/utf8"

const upperHex = "0123456789ABCDEF"

// appendPercent appends s as a Percent-Encoded grpc-message. Bytes of s that are not
// UTF-8 are sent as U+FFFD, because the value stands for Unicode text. Space at either
// end is escaped too: PROTOCOL-HTTP2 would let it pass, but a field value must not
// begin or end with it (RFC 9113 section 8.2.1).
func appendPercent(dst []byte, s string) []byte {
	clean := 0 // s[clean:i] needs no escape and is not yet appended
	for i := 0; i < len(s); {
		c := s[i]
		if isUnescaped(c) && (c != ' ' || (i > 0 && i < len(s)-1)) {
			i++
			continue
		}
		dst = append(dst, s[clean:i]...)
		size := 1
		if c < utf8.RuneSelf {
			dst = appendEscape(dst, c)
		} else {
			dst, size = appendEscapedRune(dst, s[i:])
		}
		i += size
		clean = i
	}
	return append(dst, s[clean:]...)
}

// encodePercent is appendPercent into a string; it returns s itself where nothing in it
// needs an escape.
func encodePercent(s string) string {
	for i := range len(s) {
		if !isUnescaped(s[i]) {
			return string(appendPercent(make([]byte, 0, len(s)+16), s))
		}
	}
	if s != "" && (s[0] == ' ' || s[len(s)-1] == ' ') {
		return string(appendPercent(make([]byte, 0, len(s)+16), s))
	}
	return s
}

// decodePercent returns the text of a Percent-Encoded value. It never fails: what is not
// a valid escape stays as it came, as PROTOCOL-HTTP2 asks ("MUST NOT error or throw
// away the message"). Hexadecimal digits may be of either case.
func decodePercent[T Text](v T) string {
	first := 0
	for first < len(v) && v[first] != '%' {
		first++
	}
	if first == len(v) {
		return string(v)
	}
	out := make([]byte, first, len(v))
	copy(out, v[:first])
	for i := first; i < len(v); i++ {
		c := v[i]
		if c == '%' && i+2 < len(v) {
			high, low := unhex(v[i+1]), unhex(v[i+2])
			if high|low < 16 {
				c = high<<4 | low
				i += 2
			}
		}
		out = append(out, c)
	}
	return string(out)
}

// isUnescaped reports whether c is a Percent-Byte-Unencoded: %x20-%x24 / %x26-%x7E.
func isUnescaped(c byte) bool {
	return c >= 0x20 && c <= 0x7e && c != '%'
}

func appendEscape(dst []byte, c byte) []byte {
	return append(dst, '%', upperHex[c>>4], upperHex[c&15])
}

// appendEscapedRune escapes the first rune of s, or U+FFFD if s begins with none, and returns how many
// bytes of s it has escaped.
func appendEscapedRune(dst []byte, s string) ([]byte, int) {
	r, size := utf8.DecodeRuneInString(s)
	var enc [utf8.UTFMax]byte
	n := utf8.EncodeRune(enc[:], r)
	for _, c := range enc[:n] {
		dst = appendEscape(dst, c)
	}
	return dst, size
}

// unhex returns the value of a hexadecimal digit, or 0xff.
func unhex(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10
	}
	return 0xff
}
