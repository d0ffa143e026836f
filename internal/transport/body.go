// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"sync"

	"google.golang.org/grpc/internal/transport/grpcwire"
	"google.golang.org/grpc/mem"
)

// body is the receiving half of a stream of either side: the messages that have
// arrived, the one that is arriving, and who waits for them. Its lock is the
// stream's.
type body struct {
	mu      sync.Mutex
	asm     grpcwire.Assembler
	inbox   inbox
	wake    waker
	filling bool // the reader writes into the assembler's space
	closed  bool // nothing is taken any more
	asked   bool // the window was widened for the message in assembly
}

// space is where the reader puts the next at most n bytes.
func (b *body) space(n int) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return make([]byte, min(n, 4<<10)) // closed in the middle of a frame
	}
	b.filling = true
	return b.asm.Space(n)
}

// maxUpFront is how long a message may be, in bytes, to get its memory before
// its bytes are there, however large the window is.
const maxUpFront = 4 << 20

// allowUpFront lets a message that fits the window have all of its memory at
// once, so that it need not be copied as it grows. mu is held.
func (b *body) allowUpFront(window int) {
	if window > grpcwire.DefaultUpFront {
		b.asm.SetUpFront(min(window, maxUpFront))
	}
}

// filled follows each space. expect is how many bytes the window should be
// widened for, as somebody waits for them. mu is held.
func (b *body) filled(n int, t *traffic) (expect int, err error) {
	b.filling = false
	if b.closed {
		b.asm.Abort()
		return 0, nil
	}
	m, complete, err := b.asm.Filled(n)
	switch {
	case err != nil:
		return 0, err
	case complete:
		b.asked = false
		b.inbox.push(m)
		t.messageReceived()
		b.wake.signal(wakeMessage, b.inbox.len())
		return 0, nil
	case b.wake.reason != wakeNone:
		return b.expect(), nil
	}
	return 0, nil
}

// expect is how many bytes to widen the window for, once a message.
func (b *body) expect() int {
	if b.asked || !b.asm.InMessage() {
		return 0
	}
	n := b.asm.Missing()
	if n <= grpcwire.PrefixLen {
		return 0 // its length is not known yet, or it is all but there
	}
	b.asked = true
	return n
}

// end says that the body is complete; an error that it is not. mu is held.
func (b *body) end() error {
	err := b.asm.End()
	b.asm.Abort()
	return err
}

// close drops what arrived and was not taken, and all that will. mu is held.
func (b *body) close() {
	b.closed = true
	b.inbox.drop()
	if !b.filling {
		b.asm.Abort()
	}
}

func (b *body) init(pool mem.BufferPool, limit int) { b.asm.Init(pool, limit, 0) }

// size is the memory, in bytes, of what has arrived and was not taken.
func (b *body) size() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.asm.Held() + b.inbox.size()
}
