// SPDX-License-Identifier: Apache-2.0

package hpack

// Skimmer parses a header block that comes in parts, without tables and without storing it, to find out
// early that it is malformed: that a pseudo-header field comes after a regular one (RFC 9113 section
// 8.3). It ignores names that are in the dynamic table, which it does not know. Errors of decoding it
// leaves to the [Decoder]. The zero value is ready for a block.
type Skimmer struct {
	step      skimStep
	then      skimStep // what comes after the octets to skip, or what the integer means
	n         uint64   // octets to skip, or the integer so far
	shift     uint
	coded     bool // the string is in Huffman code
	regular   bool // there was a regular field
	misplaced bool
}

// skimStep says what the next octet is.
type skimStep uint8

const (
	skimField    skimStep = iota // the first octet of a representation
	skimIndexed                  // the index of an indexed field
	skimLiteral                  // the index of a literal field's name
	skimUpdate                   // a size update
	skimNameLen                  // length of a name
	skimName                     // first octet of a name
	skimValueLen                 // length of a value
	skimInteger                  // a further octet of an integer; the field then says what the integer means
	skimOctets                   // an octet to skip; n says how many there are, and the field then what follows them
	skimLost                     // the block can't be decoded
)

// Add parses the next part. It reports whether the block is malformed.
func (s *Skimmer) Add(p []byte) bool {
	for len(p) > 0 && !s.misplaced && s.step != skimLost {
		if s.step == skimOctets {
			n := min(s.n, uint64(len(p)))
			p = p[n:]
			if s.n -= n; s.n == 0 {
				s.step = s.then
			}
			continue
		}
		s.octet(p[0])
		p = p[1:]
	}
	return s.misplaced
}

func (s *Skimmer) octet(b byte) {
	switch s.step {
	case skimField:
		s.field(b)
	case skimInteger:
		s.n += uint64(b&0x7f) << s.shift
		s.shift += 7
		switch {
		case b < 0x80:
			s.integer(s.then)
		case s.shift > 28:
			s.step = skimLost
		}
	case skimName:
		s.named(!s.coded && b == ':' || s.coded && b>>1 == codedColon)
		s.skip(s.n-1, skimValueLen)
	default:
		s.coded = b >= 0x80
		s.prefix(b, 7, s.step)
	}
}

// codedColon is the Huffman code of ':', of 7 bits (RFC 7541 appendix B).
const codedColon = 0x5c

// field begins a representation (RFC 7541 section 6).
func (s *Skimmer) field(b byte) {
	switch {
	case b >= 0x80:
		s.prefix(b, 7, skimIndexed)
	case b >= 0x40:
		s.prefix(b, 6, skimLiteral)
	case b >= 0x20:
		s.prefix(b, 5, skimUpdate)
	default:
		s.prefix(b, 4, skimLiteral)
	}
}

// prefix begins an integer (RFC 7541 section 5.1). step says what the integer means.
func (s *Skimmer) prefix(b byte, bits uint, step skimStep) {
	limit := byte(1)<<bits - 1
	if s.n = uint64(b & limit); b&limit < limit {
		s.integer(step)
		return
	}
	s.step, s.then, s.shift = skimInteger, step, 0
}

// integer handles a whole integer.
func (s *Skimmer) integer(step skimStep) {
	switch step {
	case skimIndexed:
		s.index()
		s.step = skimField
	case skimLiteral:
		if s.step = skimNameLen; s.n > 0 {
			s.index()
			s.step = skimValueLen
		}
	case skimNameLen:
		if s.step = skimName; s.n == 0 {
			s.step = skimValueLen
		}
	case skimValueLen:
		s.skip(s.n, skimField)
	default:
		s.step = skimField
	}
}

func (s *Skimmer) skip(n uint64, then skimStep) {
	if s.n, s.step, s.then = n, skimOctets, then; n == 0 {
		s.step = then
	}
}

// index handles a name that is given by its index. It knows the names of the static table only.
func (s *Skimmer) index() {
	if s.n > 0 && s.n <= staticLen {
		e := &staticEntries[s.n]
		s.named(staticArena[e.off] == ':')
	}
}

func (s *Skimmer) named(pseudo bool) {
	s.misplaced = s.misplaced || pseudo && s.regular
	s.regular = s.regular || !pseudo
}
