// SPDX-License-Identifier: Apache-2.0

package tlsconn

import (
	"sync/atomic"

	"google.golang.org/grpc/internal/readyreader"
)

const (
	// cipherSize is how much is read from the socket at once, and bulkSize the same once that
	// much was there. It leaves room for two records of full size and more, so that a record of
	// which only a part has arrived can always be completed in the same buffer.
	cipherSize = 64 << 10
	bulkSize   = 256 << 10
)

// intake is the ciphertext that was read and not yet decrypted.
//
// With Conn.release tls.Conn shares this memory, and knows how many bytes of it are left: the last ones
// here. Without Conn.release these are the bytes that tls.Conn has not copied yet.
type intake struct {
	readyreader.PartialInput
	end error // what follows the last byte
	// dry says that what is in hand yields no plaintext, as far as is known.
	dry  bool
	bulk bool // reads are of bulkSize
	// wakes is how often there was input while the ciphers were at rest, up to wakesBefore.
	wakes uint8
	// left is what became of the ciphers since the reader left the connection alone. It may be
	// read by all.
	left  atomic.Uint32
	vigil *vigil // nil: the ciphers are not kept
}

// size is how much is read at once.
func (in *intake) size() int {
	if in.bulk {
		return bulkSize
	}
	return cipherSize
}

// adapt follows a read that was to fill size bytes, and has filled n.
func (in *intake) adapt(n, size int) {
	switch {
	case n == size:
		in.bulk = true
	case n < cipherSize/2:
		in.bulk = false
	}
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
