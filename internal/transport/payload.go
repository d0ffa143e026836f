// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"google.golang.org/grpc/internal/transport/grpcwire"
	"google.golang.org/grpc/internal/transport/h2"
)

// Payload is a message to send. Its data belongs to the transport as soon as it
// is passed to a method, and is freed by it in every case.
type Payload struct {
	Data       Pieces
	Compressed bool
	// Lent is the piece of Data that lies in memory of the program's; nil: there is none. It is
	// given back by Send, or by whoever opened a stream with it.
	Lent *Borrowed
}

// Borrowed is a piece of a message in memory of the program's.
type Borrowed = h2.Borrowed

// Borrow returns b as a piece of a message, with a reference of the message's and one that Send gives
// up, or Reclaim.
func Borrow(b []byte) *Borrowed { return h2.Borrow(b) }

func (p *Payload) frames() (f h2.Frames) {
	f.HasData = true
	f.Data = p.Data
	f.Prefix = grpcwire.Prefix(p.Compressed, uint32(p.Data.Len()))
	return f
}
