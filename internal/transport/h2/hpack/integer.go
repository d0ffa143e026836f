// SPDX-License-Identifier: Apache-2.0

package hpack

import "math"

// appendInt appends n as an integer whose prefix has the given number of bits (RFC 7541 section 5.1).
// The bits above the prefix are those of pattern.
func appendInt(dst []byte, pattern byte, prefix uint, n uint32) []byte {
	limit := uint32(1)<<prefix - 1
	if n < limit {
		return append(dst, pattern|byte(n))
	}
	dst = append(dst, pattern|byte(limit))
	for n -= limit; n >= 0x80; n >>= 7 {
		dst = append(dst, byte(n)|0x80)
	}
	return append(dst, byte(n))
}

// reader is a cursor over one header block. off never passes len(b).
type reader struct {
	b    []byte
	off  int
	need int // after errTruncated: the length of b from which decoding can continue
}

// truncated returns the error for a block that ends although n more octets are needed.
func (r *reader) truncated(n uint32) error {
	r.need = r.off + int(min(uint64(n), math.MaxInt/2))
	return errTruncated
}

// integer reads an integer whose prefix is in the octet at the cursor. The caller has checked that this
// octet exists.
func (r *reader) integer(prefix uint) (uint32, error) {
	limit := uint32(1)<<prefix - 1
	n := uint32(r.b[r.off]) & limit
	r.off++
	if n < limit {
		return n, nil
	}
	return r.integerTail(limit)
}

// integerTail reads the octets of an integer after the prefix.
//
// RFC 7541 section 5.1: "Integer encodings that exceed implementation limits -- in
// value or octet length -- MUST be treated as decoding errors." The limits are 32
// bits of value and five continuation octets, zero padding included.
func (r *reader) integerTail(limit uint32) (uint32, error) {
	n := uint64(limit)
	for shift := uint(0); shift <= 28; shift += 7 {
		if r.off == len(r.b) {
			return 0, r.truncated(1)
		}
		c := r.b[r.off]
		r.off++
		n += uint64(c&0x7f) << shift
		if n > math.MaxUint32 {
			return 0, errIntegerOverflow
		}
		if c < 0x80 {
			return uint32(n), nil
		}
	}
	return 0, errIntegerOverflow
}

// octets returns the next n octets of the block, without a copy.
func (r *reader) octets(n uint32) ([]byte, error) {
	if uint64(n) > uint64(len(r.b)-r.off) {
		return nil, r.truncated(n)
	}
	s := r.b[r.off : r.off+int(n)]
	r.off += int(n)
	return s, nil
}
