// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"fmt"

	"google.golang.org/grpc/internal/transport/grpcwire"
	"google.golang.org/grpc/internal/transport/h2"
	"google.golang.org/grpc/internal/transport/h2/hpack"
)

// A "-bin" field may have many values, joined with commas, and a field that stands in a
// table costs the peer one byte: what the application sees of it must not be a copy each time,
// nor thousands of values.

// maxJoined is how many values of a block's "-bin" fields may come out of splitting, beyond
// one a field and those that are as long as what they cost: see joined.
const maxJoined = 256

// valueCost is how many encoded bytes a value has, or more, that pays for its place in a
// slice of strings: four times that is more than the 16 bytes there and what it decodes to.
const valueCost = 8

// joined counts, in a block, the values that the peer did not pay for.
type joined struct {
	unpaid int
	known  []int32 // of each entry: how many values, 0 if it was not seen
}

// add checks field i of b, a "-bin" one, and counts its values. Those of an entry are paid for
// where the block first refers to it.
func (j *joined) add(b *h2.HeaderBlock, i int) error {
	var seen *int32
	if ref, whole := b.Ref(i); whole && ref > hpack.StaticLen {
		if j.known == nil {
			j.known = make([]int32, len(b.Entries()))
		}
		seen = &j.known[ref-hpack.StaticLen-1]
	}
	if seen != nil && *seen > 0 {
		j.unpaid += int(*seen) - 1
	} else {
		v := b.Value(i)
		n, good := countValues(v)
		if !good && b.Kind(i) != kindStatusDetails { // without details a status stands all the same
			return fmt.Errorf("malformed binary metadata %q", b.Name(i))
		}
		if seen != nil {
			*seen = int32(n)
		}
		j.unpaid += max(n-1-len(v)/valueCost, 0)
	}
	if j.tooMany() {
		return fmt.Errorf("too many values joined in binary metadata %q", b.Name(i))
	}
	return nil
}

// tooMany reports that nobody is to see the block's fields.
func (j *joined) tooMany() bool { return j.unpaid > maxJoined }

// countValues tells how many values a "-bin" field has, and whether all can be decoded.
func countValues(v []byte) (n int, good bool) {
	var scratch [256]byte
	good = true
	for v := range grpcwire.BinaryValues(v) {
		n++
		if good {
			_, err := grpcwire.AppendDecodedBinary(scratch[:0], v)
			good = err == nil
		}
	}
	return n, good
}

// decoded is the values of the "-bin" fields that stand in entries, once decoded.
type decoded [][]string

// appendEntry appends the values of entries[i], a "-bin" field. They share what they were
// decoded to.
func (d *decoded) appendEntry(vs []string, i int, entries []*hpack.Entry) []string {
	if *d == nil {
		*d = make(decoded, len(entries))
	}
	if before := (*d)[i]; len(before) > 0 {
		return append(vs, before...)
	}
	start := len(vs)
	vs = appendDecoded(vs, unsafeString(hpack.Value(hpack.StaticLen+1+uint32(i), entries)))
	(*d)[i] = vs[start:]
	return vs
}

// appendDecoded appends the values of a "-bin" field, but for those that can't be decoded.
func appendDecoded(vs []string, value string) []string {
	for v := range grpcwire.BinaryValues(value) {
		if b, err := grpcwire.AppendDecodedBinary(nil, v); err == nil {
			vs = append(vs, unsafeString(b))
		}
	}
	return vs
}
