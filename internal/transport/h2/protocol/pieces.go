// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"iter"

	"google.golang.org/grpc/mem"
)

// Pieces is a message to send, as a list of buffers. Most messages are one buffer, which needs no
// slice. The holder of a Pieces holds a reference to each buffer.
type Pieces struct {
	first mem.Buffer // nil: there is none
	rest  mem.BufferSlice
	n     int // bytes in all
}

// OnePiece returns the message that is in b.
func OnePiece(b mem.Buffer) Pieces { return Pieces{first: b, n: b.Len()} }

// PiecesOf returns the message that is in s. s and the result hold the same references.
func PiecesOf(s mem.BufferSlice) Pieces {
	if len(s) == 0 {
		return Pieces{}
	}
	return Pieces{first: s[0], rest: s[1:], n: s.Len()}
}

// Len returns the length of the message in bytes.
func (p *Pieces) Len() int { return p.n }

// All returns the pieces in their order.
func (p *Pieces) All() iter.Seq[mem.Buffer] {
	return func(yield func(mem.Buffer) bool) {
		if p.first == nil || !yield(p.first) {
			return
		}
		for _, b := range p.rest {
			if !yield(b) {
				return
			}
		}
	}
}

// Ref adds a reference to each piece.
func (p *Pieces) Ref() {
	if p.first != nil {
		p.first.Ref()
		p.rest.Ref()
	}
}

// Free gives up a reference to each piece.
func (p *Pieces) Free() {
	if p.first != nil {
		p.first.Free()
		p.rest.Free()
	}
}

// Materialize returns a copy of all bytes, or nil if there are none.
func (p *Pieces) Materialize() []byte {
	if p.n == 0 {
		return nil
	}
	b := make([]byte, 0, p.n)
	for piece := range p.All() {
		b = append(b, piece.ReadOnlyData()...)
	}
	return b
}
