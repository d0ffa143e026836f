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
	// wakes is how often there was input while the ciphers were at rest, up to wakesBefore.
	wakes uint8
	// left is what became of the ciphers since the reader left the connection alone. It may be
	// read by all.
	left  atomic.Uint32
	vigil *vigil // nil: the ciphers are not kept
}

// woken notes that there is input.
func (in *intake) woken() {
	if in.left.Load() != inUse {
		in.left.Store(inUse)
		in.wakes = min(in.wakes+1, wakesBefore)
	}
}

// endVigil has the ciphers put to rest next time.
func (in *intake) endVigil() {
	if in.vigil != nil {
		vigils.Remove(&in.vigil.Entry)
	}
	in.vigil, in.wakes = nil, 0
}
