// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"sync"
	"unique"

	"google.golang.org/grpc/internal/transport/h2/hpack"
)

// frozen is the HPACK state of one direction, which outlives the calls it serves. While a
// connection is parked no other form of it is kept, and connections with equal tables
// share this one: as a rule those of all clients that run the same program. The zero
// value is that of a new connection.
type frozen struct{ state unique.Handle[string] }

func (f frozen) fresh() bool { return f == frozen{} }

func freeze(state []byte) frozen { return frozen{unique.Make(string(state))} }

// maxPooledTable is how much memory a table may hold, in bytes, that is kept for
// another connection.
const maxPooledTable = 16 << 10

// coder is what encodes the header blocks of a connection that sends any.
// Guarded by Conn.mu.
type coder struct {
	enc  hpack.Encoder
	seen seenFields
}

var coders = sync.Pool{New: func() any { return new(coder) }}
