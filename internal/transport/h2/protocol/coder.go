// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"sync"

	"google.golang.org/grpc/internal/transport/h2/hpack"
)

// maxPooledTable is how much memory a table may hold, in bytes, that is kept for
// another connection.
const maxPooledTable = 16 << 10

// coder is what encodes the header blocks of a connection that sends any.
type coder struct {
	enc    hpack.Encoder
	seen   seenFields
	writer FieldWriter // what sources write to: a call through an interface would make it escape
}

var coders = sync.Pool{New: func() any {
	e := new(coder)
	e.writer.enc, e.writer.seen = &e.enc, &e.seen
	return e
}}
