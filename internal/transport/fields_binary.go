// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"fmt"

	"google.golang.org/grpc/internal/transport/grpcwire"
	"google.golang.org/grpc/internal/transport/h2"
	"google.golang.org/grpc/internal/transport/h2/hpack"
)

// A "-bin" field may have many values, joined with commas. A field that stands in a table costs the peer
// one byte. So what the application sees of a field must not be a copy each time, nor thousands of values.

// maxJoined is how many values the "-bin" fields of a block may be split into that the peer has not paid
// for. It has paid for one value of each field, and for one more for every valueCost bytes of the field.
const maxJoined = 256

// valueCost is the encoded length, in bytes, from which a value costs us at most four times what it cost
// the peer: a value takes 16 bytes in a slice of strings, and what it decodes to.
const valueCost = 8

// joined counts, in a block, the values that the peer did not pay for.
type joined struct {
	unpaid int
	known  map[*hpack.Field]int // how many values each of the fields seen so far has
}

// add checks field i of b, which is a "-bin" field, and counts its values. The values of a table entry are
// paid for where the block first refers to the entry.
func (j *joined) add(b *h2.HeaderBlock, i int) error {
	f, whole := b.Field(i)
	if n := j.known[f]; whole && n > 0 {
		j.unpaid += n - 1
	} else {
		v := b.Value(i)
		n, err := countValues(v)
		if err != nil && b.Kind(i) != kindStatusDetails { // a status counts without its details
			return &badBinary{name: grpcwire.Quoted(b.Name(i)), err: err}
		}
		if whole && f != nil {
			if j.known == nil {
				j.known = make(map[*hpack.Field]int)
			}
			j.known[f] = n
		}
		j.split(n, len(v))
	}
	if j.tooMany() {
		return fmt.Errorf("too many values joined in binary metadata %q", grpcwire.Quoted(b.Name(i)))
	}
	return nil
}

// badBinary is a "-bin" field whose value is not base64. Its text does not repeat the value,
// which may be a secret.
type badBinary struct {
	name string
	err  error
}

func (b *badBinary) Error() string {
	return fmt.Sprintf("malformed binary metadata in header %q: %v", b.name, b.err)
}

// split counts a field of length bytes with n values.
func (j *joined) split(n, length int) { j.unpaid += max(n-1-length/valueCost, 0) }

// tooMany reports whether there are so many unpaid values that the block's fields are dropped.
func (j *joined) tooMany() bool { return j.unpaid > maxJoined }

// countValues returns how many values a "-bin" field has, and an error unless all can be decoded.
func countValues(v []byte) (n int, err error) {
	var scratch [256]byte
	for v := range grpcwire.BinaryValues(v) {
		n++
		if err == nil {
			_, err = grpcwire.AppendDecodedBinary(scratch[:0], v)
		}
	}
	return n, err
}

// decoded has the values of the "-bin" fields that blocks refer to, each decoded once.
type decoded map[*hpack.Field][]string

// append appends the values of a "-bin" field. If f is not nil, they are f's values, which are decoded only
// once.
func (d *decoded) append(vs []string, value string, f *hpack.Field) []string {
	if f == nil {
		return appendDecoded(vs, value)
	}
	if before := (*d)[f]; len(before) > 0 {
		return append(vs, before...)
	}
	if *d == nil {
		*d = make(decoded)
	}
	start := len(vs)
	vs = appendDecoded(vs, value)
	(*d)[f] = vs[start:]
	return vs
}

// appendDecoded appends the values of a "-bin" field, except those that can't be decoded.
func appendDecoded(vs []string, value string) []string {
	for v := range grpcwire.BinaryValues(value) {
		if b, err := grpcwire.AppendDecodedBinary(nil, v); err == nil {
			vs = append(vs, unsafeString(b))
		}
	}
	return vs
}
