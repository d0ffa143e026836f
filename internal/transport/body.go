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
		b.inbox.push(m)
		t.messageReceived()
		b.wake.signal(wakeMessage, b.inbox.len())
	}
	if b.wake.reason == wakeNone {
		return 0, nil
	}
	return b.expect(), nil
}

// expect is how many bytes the one who waits needs before anything is consumed. Once is
// not enough for a message: padding uses up the window as well.
func (b *body) expect() int {
	switch {
	case b.asm.InMessage():
		return b.asm.Missing()
	case b.inbox.size() > minWindow/2:
		// Who waits for the end leaves this message where it is. It may have used
		// up the window, and a second one would end the wait.
		return grpcwire.PrefixLen
	}
	return 0
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
