// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"sync"

	"google.golang.org/grpc/internal/transport/h2/hpack"
)

// maxPooledTable is the largest memory, in bytes, of an HPACK table that is kept for another
// connection.
const maxPooledTable = 16 << 10

// coder encodes the header blocks of a connection. A connection that sends none has no coder.
type coder struct {
	enc    hpack.Encoder
	seen   seenFields
	writer FieldWriter // sources write to it; a call through an interface would make a local one escape
}

var coders = sync.Pool{New: func() any {
	e := new(coder)
	e.writer.enc, e.writer.seen = &e.enc, &e.seen
	return e
}}
