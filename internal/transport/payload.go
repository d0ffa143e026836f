// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"google.golang.org/grpc/internal/transport/grpcwire"
	"google.golang.org/grpc/internal/transport/h2"
)

// Payload is a message to send. Its data belongs to the transport as soon as the caller passes it to a
// method. The transport frees it in every case.
type Payload struct {
	Data       Pieces
	Compressed bool
	// Lent is the piece of Data that lies in the program's memory; nil means that there is none. Send gives
	// it back, or Reclaim if a stream was opened with it.
	Lent *Borrowed
}

// Borrowed is a piece of a message in memory of the program's.
type Borrowed = h2.Borrowed

// Borrow returns b as a piece of a message. It has two references: the message's, and one that Send or
// Reclaim gives up.
func Borrow(b []byte) *Borrowed { return h2.Borrow(b) }

func (p *Payload) frames() (f h2.Frames) {
	f.HasData = true
	f.Data = p.Data
	f.Prefix = grpcwire.Prefix(p.Compressed, uint32(p.Data.Len()))
	return f
}
