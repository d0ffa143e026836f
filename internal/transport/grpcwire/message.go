// SPDX-License-Identifier: Apache-2.0

package grpcwire

import (
	"bytes"

	internalmem "google.golang.org/grpc/internal/mem"
	"google.golang.org/grpc/mem"
)

// A Message is one Length-Prefixed-Message as it was received.
type Message struct {
	Data       Bytes  // in one piece; the receiver owns it
	Compressed bool   // the Compressed-Flag
	Held       uint32 // the memory that Data takes, in bytes
	Len        int    // the Message-Length: size on the wire, without the prefix
}

// Clone returns a copy of m, with memory that need not be given back.
func (m Message) Clone() Message {
	m.Data = BytesOf(bytes.Clone(m.Data.ReadOnlyData()))
	return m
}

// Unpooled returns m with memory that need not be given back. If that of m does, it is copied and given back.
func (m Message) Unpooled() Message {
	if m.Data.pool == nil {
		return m
	}
	c := m.Clone()
	m.Data.Free()
	return c
}

// Bytes is the body of a message, in memory of a pool or of the garbage collector. It has one owner, which
// gives it back once, by Free or Buffer. There is no count of owners: it would be written on the processor
// that reads the connection and again where the message is decoded, and so cost more than everything else
// about a small message. The zero value is no message; an empty message is not the zero value.
type Bytes struct {
	p    *[]byte
	pool *mem.BufferPool // where p goes back to; nil: to the collector
}

var emptyBytes = BytesOf(nil)

// BytesOf returns b as Bytes, which need not be given back.
func BytesOf(b []byte) Bytes { return Bytes{p: &b} }

// IsZero reports whether there is no message.
func (b Bytes) IsZero() bool { return b.p == nil }

// ReadOnlyData returns the bytes. They must not be written. They are valid until they are given back: by
// Free, or by the last Free of what Buffer returned.
func (b Bytes) ReadOnlyData() []byte { return (*b.p)[:len(*b.p):len(*b.p)] }

// Free gives the memory back.
func (b Bytes) Free() {
	if b.pool != nil {
		(*b.pool).Put(b.p)
	}
}

// Ownable returns the bytes for a caller that may want to keep them for ever (Own), with the capacity of
// all the memory that they lie in. ok is false if only a copy can be kept: the memory is part of something
// else, or belongs to a pool of the program's, which wants it back.
func (b Bytes) Ownable() (data []byte, ok bool) {
	if b.pool == nil {
		return nil, false
	}
	_, ok = (*b.pool).(internalmem.Forgetter)
	return *b.p, ok
}

// Own leaves the memory, which must be Ownable, to the caller for good. It takes the place of Free.
func (b Bytes) Own() { (*b.pool).(internalmem.Forgetter).Forget(b.p) }

// Buffer returns the bytes as a Buffer, which belongs to the caller. b must not be used afterwards.
func (b Bytes) Buffer() mem.Buffer {
	if b.pool == nil {
		return (*mem.SliceBuffer)(b.p)
	}
	return mem.NewBuffer(b.p, *b.pool)
}
