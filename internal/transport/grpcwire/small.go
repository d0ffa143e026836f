// SPDX-License-Identifier: Apache-2.0

package grpcwire

import (
	"encoding/binary"
	"unsafe"

	"google.golang.org/grpc/mem"
)

const (
	// smallMax is the length up to which a message does not come from the pool. Up to it, one allocation of
	// just the message's size is as fast, and a peer that sends tiny messages to a slow receiver cannot
	// make each of them hold a buffer many times as large.
	smallMax = 104

	// headerSize is the memory, in bytes, of the slice header of a buffer of the pool's.
	headerSize = 24
)

// A small buffer is one allocation that holds the bytes and, in front of them, the slice header to which
// the message's Bytes point. On 64-bit systems the two kinds take 64 and 128 bytes, which are size classes
// of the allocator.
type (
	small40 struct {
		header mem.SliceBuffer
		data   [40]byte
	}
	small104 struct {
		header mem.SliceBuffer
		data   [smallMax]byte
	}
)

// newSmall returns n bytes, n <= smallMax, that need not be freed. The result also points to a
// mem.SliceBuffer.
func newSmall(n int) *[]byte {
	if n <= len(small40{}.data) {
		s := new(small40)
		s.header = s.data[:n]
		return (*[]byte)(&s.header)
	}
	s := new(small104)
	s.header = s.data[:n]
	return (*[]byte)(&s.header)
}

// smallSize returns the memory, in bytes, that newSmall(n) takes.
func smallSize(n int) int {
	if n <= len(small40{}.data) {
		return int(unsafe.Sizeof(small40{}))
	}
	return int(unsafe.Sizeof(small104{}))
}

// NewSmall returns a message with a copy of body, which has at most 104 bytes. The message takes little
// more memory than that.
func NewSmall(body []byte, compressed bool) Message {
	m := Message{Data: emptyBytes, Compressed: compressed, Len: len(body)}
	if len(body) > 0 {
		b := newSmall(len(body))
		copy(*b, body)
		m.Data, m.Held = Bytes{p: b}, uint32(smallSize(len(body)))
	}
	return m
}

// Run is a queue of small messages that takes about the memory of their bytes. The zero value is empty.
type Run struct {
	b   []byte // for each message one byte with its length and flag, and its body
	off int    // where the oldest begins
}

// maxRun bounds a Run: a longer one would be copied too often as it grows.
const maxRun = 4 << 10

// IsSmall reports whether m can be part of a Run.
func IsSmall(m Message) bool { return m.Len <= smallMax }

// Add adds a copy of m. It reports false, and adds nothing, if m is not small, or if r is full. m still
// belongs to the caller.
func (r *Run) Add(m Message) bool {
	if !IsSmall(m) || len(r.b)+1+m.Len > maxRun {
		return false
	}
	head := byte(m.Len) << 1
	if m.Compressed {
		head |= 1
	}
	r.b = append(append(r.b, head), m.Data.ReadOnlyData()...)
	return true
}

// smallAt returns the length of the message that p begins with, if that is whole, breaks no rule and is
// no longer than limit, which is smallMax at most.
func smallAt(p []byte, limit uint32) (size int, ok bool) {
	if len(p) < PrefixLen || p[0] > 1 {
		return 0, false
	}
	n := binary.BigEndian.Uint32(p[1:])
	return int(n), n <= limit && int(n) <= len(p)-PrefixLen
}

// take adds messages of up to limit bytes from the beginning of p, as many as r has room for. It returns
// how many bytes of p, and how many messages, it has added. A peer may send very many messages at once that
// nobody reads: each is copied at about what its bytes cost.
func (r *Run) take(p []byte, limit uint32) (n, messages int) {
	for {
		size, ok := smallAt(p[n:], limit)
		if !ok || len(r.b)+1+size > maxRun {
			return n, messages
		}
		body := p[n+PrefixLen:][:size]
		r.b = append(append(r.b, byte(size)<<1|p[n]), body...)
		n += PrefixLen + size
		messages++
	}
}

// Next removes the oldest message and returns it. There must be one.
func (r *Run) Next() Message {
	head := r.b[r.off]
	at := r.off + 1
	r.off = at + int(head>>1)
	return NewSmall(r.b[at:r.off], head&1 != 0)
}

// Empty reports whether r has no messages left.
func (r *Run) Empty() bool { return r.off == len(r.b) }

// Held returns the memory, in bytes, that r takes.
func (r *Run) Held() int { return int(unsafe.Sizeof(*r)) + cap(r.b) }
