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
}

func (p *Payload) frames() (f h2.Frames) {
	f.HasData = true
	f.Data = p.Data
	f.Prefix = grpcwire.Prefix(p.Compressed, uint32(p.Data.Len()))
	return f
}
