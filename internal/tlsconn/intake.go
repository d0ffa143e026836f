// SPDX-License-Identifier: Apache-2.0

package tlsconn

import (
	"sync/atomic"

	"google.golang.org/grpc/internal/readyreader"
)

// intake is the ciphertext that was read and not yet decrypted.
//
// With Conn.release its memory is also that of tls.Conn, which knows how much of it is left:
// those bytes are the last ones here. Without, it is what tls.Conn has not copied yet.
type intake struct {
	readyreader.Stock
	end error // what follows the last byte
	// dry says that what is in hand yields no plaintext, as far as is known.
	dry bool
	// resting says that there was no input since the reader left the connection alone. It may
	// be read by all.
	resting atomic.Bool
}
