// SPDX-License-Identifier: Apache-2.0

package tlsconn

import (
	"sync/atomic"

	"google.golang.org/grpc/internal/readyreader"
)

const (
	// cipherSize is how much is read from the socket at once, and bulkSize is the same once that much was
	// there. cipherSize leaves room for two records of full size and more, so that a record of which only a
	// part has arrived can always be completed in the same buffer.
	cipherSize = 64 << 10
	bulkSize   = 256 << 10
)

// intake is the ciphertext that was read and not yet decrypted.
//
// With Conn.release tls.Conn shares this memory, and knows how many bytes of it are left: the last ones
// here. Without Conn.release these are the bytes that tls.Conn has not copied yet.
type intake struct {
	readyreader.PartialInput
	end error // the error that follows the last byte
	// dry says that the ciphertext in hand yields no plaintext, as far as is known.
	dry  bool
	bulk bool // reads are of bulkSize
	// wakes is how often there was input after the reader had left the connection alone, up to wakesBefore.
	wakes uint8
	// left says what became of the ciphers since the reader left the connection alone. Any goroutine may
	// read it.
	left  atomic.Uint32
	vigil *vigil // nil: the ciphers are not kept
}

// size returns how much is read at once.
func (in *intake) size() int {
	if in.bulk {
		return bulkSize
	}
	return cipherSize
}

// adapt is called after a read of n bytes that could have been size bytes.
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

// endVigil stops keeping the ciphers: they are put to rest next time.
func (in *intake) endVigil() {
	if in.vigil != nil {
		in.vigil.ended.Store(true)
		vigils.Remove(&in.vigil.Entry)
	}
	in.vigil, in.wakes = nil, 0
}
