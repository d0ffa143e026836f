// SPDX-License-Identifier: Apache-2.0

package hpack

import (
	"encoding/binary"
	"slices"
)

const (
	huffLookupBits = 12 // two code words of six bits, a common length, fit in one lookup
	huffMaxBits    = 30 // also the length of EOS, thirty ones
	huffMinBits    = 5
)

// huffEntry says what the next huffLookupBits bits decode to: up to two octets, and the number of bits
// that they take. An n of 0 means that the next code word is longer than huffLookupBits.
type huffEntry struct {
	sym  [2]byte
	n    uint8
	bits uint8
}

// huffCode is the Huffman code in the forms that encoding and decoding need.
type huffCode struct {
	word   [256]uint32 // code words, right aligned
	lookup [1 << huffLookupBits]huffEntry

	// A canonical code gives words of one length consecutive values, in the order
	// of their octets: bySym[rank[n]+i] has the word first[n]+i of n bits, and
	// first[n]+count[n] is past the last.
	bySym [256]byte
	first [huffMaxBits + 1]uint32
	count [huffMaxBits + 1]uint32
	rank  [huffMaxBits + 1]uint32
}

var huff = newHuffCode()

func newHuffCode() *huffCode {
	h := new(huffCode)
	word, rank := uint32(0), uint32(0)
	for n := uint32(huffMinBits); n <= huffMaxBits; n++ {
		word <<= 1
		h.first[n], h.rank[n] = word, rank
		for sym, bits := range huffBits {
			if uint32(bits) == n {
				h.word[sym], h.bySym[rank] = word, byte(sym)
				word++
				rank++
			}
		}
		h.count[n] = word - h.first[n]
	}
	for i := range h.lookup {
		h.lookup[i] = h.lookupEntry(uint64(i) << (64 - huffLookupBits))
	}
	return h
}

// lookupEntry decodes up to two octets from the top huffLookupBits bits of acc.
func (h *huffCode) lookupEntry(acc uint64) (e huffEntry) {
	for e.n < 2 {
		sym, bits := h.one(acc, huffLookupBits-uint(e.bits))
		if bits == 0 {
			break
		}
		e.sym[e.n] = sym
		e.n++
		e.bits += uint8(bits)
		acc <<= bits
	}
	return e
}

// one decodes the octet whose code word starts at the top bit of acc. It returns 0 bits if no code word
// of at most limit bits starts there.
func (h *huffCode) one(acc uint64, limit uint) (sym byte, bits uint) {
	for n := uint(huffMinBits); n <= limit; n++ {
		if d := uint32(acc>>(64-n)) - h.first[n]; d < h.count[n] {
			return h.bySym[h.rank[n]+d], n
		}
	}
	return 0, 0
}

// next is like one, but faster for short code words.
func (h *huffCode) next(acc uint64, limit uint) (sym byte, bits uint) {
	e := &h.lookup[acc>>(64-huffLookupBits)]
	if e.n == 0 {
		return h.one(acc, limit)
	}
	if bits = uint(huffBits[e.sym[0]]); bits > limit {
		return 0, 0
	}
	return e.sym[0], bits
}

// huffLen returns how many octets s takes in Huffman code.
func huffLen(s string) int {
	bits := 0
	for i := range len(s) {
		bits += int(huffBits[s[i]])
	}
	return (bits + 7) / 8
}

// appendHuff appends s in Huffman code.
func appendHuff(dst []byte, s string) []byte {
	acc, bits := uint64(0), uint(0) // the low bits of acc are not written yet
	for i := range len(s) {
		n := uint(huffBits[s[i]])
		acc = acc<<n | uint64(huff.word[s[i]])
		if bits += n; bits >= 32 {
			bits -= 32
			dst = binary.BigEndian.AppendUint32(dst, uint32(acc>>bits))
		}
	}
	for bits >= 8 {
		bits -= 8
		dst = append(dst, byte(acc>>bits))
	}
	if bits > 0 {
		// RFC 7541 section 5.2: the padding is the start of EOS, ones.
		dst = append(dst, byte(acc<<(8-bits))|0xff>>bits)
	}
	return dst
}

// huffBound returns an upper bound of the number of octets to which n coded octets decode.
func huffBound(n int) uint64 { return uint64(n) * 8 / huffMinBits }

// huffDecoder takes bits from src. The top bits of acc are those that were taken and not yet decoded;
// bits is their number.
type huffDecoder struct {
	src  []byte
	acc  uint64
	bits uint
}

// fill takes whole octets from src as long as they fit acc.
func (d *huffDecoder) fill() {
	if len(d.src) >= 8 {
		d.acc |= binary.BigEndian.Uint64(d.src) >> d.bits
		took := (64 - d.bits) / 8
		d.src = d.src[took:]
		d.bits += took * 8
		// The load may have brought part of a further octet, below the counted bits.
		d.acc &= ^uint64(0) << (64 - d.bits)
		return
	}
	for d.bits <= 56 && len(d.src) > 0 {
		d.acc |= uint64(d.src[0]) << (56 - d.bits)
		d.src = d.src[1:]
		d.bits += 8
	}
}

func (d *huffDecoder) drop(bits uint) {
	d.acc <<= bits
	d.bits -= bits
}

// appendUnhuff appends what src decodes to. After an error the appended octets mean nothing.
func appendUnhuff(dst, src []byte) ([]byte, error) {
	at := len(dst)
	// One octet more than that, because a lookup always stores two octets, even if it decodes one.
	dst = slices.Grow(dst, int(huffBound(len(src)))+1)
	out := dst[:cap(dst)]
	d := huffDecoder{src: src}
	for d.fill(); d.bits >= huffLookupBits; d.fill() {
		for d.bits >= huffLookupBits {
			e := &huff.lookup[d.acc>>(64-huffLookupBits)]
			if e.n == 0 {
				break
			}
			out[at], out[at+1] = e.sym[0], e.sym[1]
			at += int(e.n)
			d.drop(uint(e.bits))
		}
		if d.bits < huffLookupBits {
			continue
		}
		d.fill()
		sym, bits := huff.one(d.acc, min(d.bits, huffMaxBits))
		if bits == 0 {
			break
		}
		out[at] = sym
		at++
		d.drop(bits)
	}
	return d.finish(out[:at])
}

// unhuffLen returns the number of octets to which src decodes. It makes the same checks as
// appendUnhuff, and needs no memory.
func unhuffLen(src []byte) (int, error) {
	n := 0
	d := huffDecoder{src: src}
	for d.fill(); d.bits >= huffMaxBits; d.fill() {
		_, bits := huff.next(d.acc, huffMaxBits)
		if bits == 0 {
			break
		}
		n++
		d.drop(bits)
	}
	var tail [huffMaxBits / huffMinBits]byte
	last, err := d.finish(tail[:0])
	return n + len(last), err
}

// finish decodes the rest of the code words, and checks that the bits after them are padding.
//
// RFC 7541 section 5.2: "A padding strictly longer than 7 bits MUST be treated as a
// decoding error. A padding not corresponding to the most significant bits of the
// code for the EOS symbol MUST be treated as a decoding error. A Huffman-encoded
// string literal containing the EOS symbol MUST be treated as a decoding error."
func (d *huffDecoder) finish(dst []byte) ([]byte, error) {
	for d.bits > 0 {
		sym, bits := huff.next(d.acc, min(d.bits, huffMaxBits))
		if bits == 0 {
			break
		}
		dst = append(dst, sym)
		d.drop(bits)
	}
	if d.bits >= huffMaxBits {
		return dst, errHuffmanEOS // the only 30 bits that start no other word
	}
	if d.bits > 7 || d.acc != ^(^uint64(0)>>d.bits) {
		return dst, errHuffmanPadding
	}
	return dst, nil
}
