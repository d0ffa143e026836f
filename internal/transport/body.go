// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"sync"

	"google.golang.org/grpc/internal/transport/grpcwire"
	"google.golang.org/grpc/internal/transport/h2"
)

// body is the receiving half of a stream of either side: the messages that have
// arrived, the one that is arriving, and who waits for them. The stream's lock guards it.
type body struct {
	asm     grpcwire.Assembler
	inbox   inbox
	wake    waker
	filling bool // the reader writes into the assembler's space
	closed  bool // nothing is taken any more
	// What the connection has not been told yet: bytes of window that were taken, and of memory that are
	// free.
	pendingWindow uint16
	pendingRefund int32
	held          int // bytes of memory, as the connection was told
}

// space is where the reader puts the next at most n bytes, if it may reserve ahead bytes
// for it. mu is held.
func (b *body) space(n, ahead int) []byte {
	if b.closed {
		return make([]byte, min(n, 4<<10)) // closed in the middle of a frame
	}
	p := b.asm.Space(n, ahead)
	b.filling = len(p) > 0
	return p
}

// piece is the next n bytes of a body: those of p, for whose message ahead bytes may be
// reserved; or, where p is nil, those that are in the last Space.
type piece struct {
	p        []byte
	n, ahead int
}

// take takes a piece. expect is how many bytes the window should be widened for, as somebody
// waits for them. mu is held.
func (b *body) take(pc piece, t *traffic) (expect int, err error) {
	if pc.p == nil {
		return b.filled(pc.n, t)
	}
	for p := pc.p; len(p) > 0 && !b.closed; {
		if n, messages := b.inbox.takeSmall(&b.asm, p); messages > 0 {
			p = p[n:]
			t.messagesReceived(messages)
			b.wake.signal(wakeMessage, b.inbox.len())
			continue
		}
		n, m, complete, err := b.asm.Take(p, pc.ahead)
		if err != nil {
			return 0, err
		}
		if complete {
			b.arrived(m, t)
		}
		p = p[n:]
	}
	return b.wanted(), nil
}

// filled follows each space of the assembler's. mu is held.
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
		b.arrived(m, t)
	}
	return b.wanted(), nil
}

// arrived takes a message that is complete. mu is held.
func (b *body) arrived(m grpcwire.Message, t *traffic) {
	if b.inbox.push(m) {
		b.asm.Reuse(m)
	}
	t.messagesReceived(1)
	b.wake.signal(wakeMessage, b.inbox.len())
}

// The reader lets others run when it has read so much at once while so much waits to be taken: on a processor
// that both share whoever takes messages would not run before the socket is empty, and megabytes of them would
// live in a collector's eyes, which lets a heap grow to several times that.
const (
	pileFrom = 16 << 10
	pileMost = 128 << 10
)

// piles reports whether the reader, which has read n bytes at once, should let others run. mu is held.
func (b *body) piles(n int) bool { return n >= pileFrom && b.inbox.held() >= pileMost }

// wanted is expect, and 0 where nobody waits for messages. mu is held.
func (b *body) wanted() int {
	if b.wake.reason == wakeNone || b.wake.reason == wakeOver {
		return 0
	}
	return b.expect()
}

// expect is how many bytes must arrive before whoever waits can consume anything. It is asked
// after each frame of a message, not only at its beginning: padding uses up the window too.
func (b *body) expect() int {
	switch {
	case b.asm.InMessage():
		return b.asm.Missing()
	case b.inbox.first.Len > minWindow/2:
		// Whoever waits for the end does not take this message before that. It may have used
		// up the window, and a second message would end the wait, too.
		return grpcwire.PrefixLen
	}
	return 0
}

// end ends the body. An error says that it is incomplete. mu is held.
func (b *body) end() error {
	err := b.asm.End()
	b.asm.Abort()
	return err
}

// close drops what has arrived and was not taken, and whatever arrives later. mu is held.
func (b *body) close() {
	b.closed = true
	b.inbox.drop()
	if !b.filling {
		b.asm.Abort()
	}
}

// await waits for r, and for nothing else, with mu, the stream's lock, held before and after.
func (b *body) await(r wakeReason, mu *sync.Mutex, s *h2.Stream) {
	waiter := b.wake.sleep(r, mu)
	if expect, freed := b.expect(), b.rest(); r == wakeMessage || expect > 0 || freed > 0 {
		mu.Unlock()
		s.Expect(expect, freed)
		if r == wakeMessage {
			b.read(mu, s, waiter)
		}
		mu.Lock()
	}
	b.wake.awaken(waiter)
}

// read reads the connection, if nobody else does, until the waiter would be woken, or something
// comes in between. mu is not held.
func (b *body) read(mu *sync.Mutex, s *h2.Stream, waiter *condWaiter) {
	t := s.InlineReader()
	if t == nil {
		return
	}
	mu.Lock()
	if b.wake.reason == wakeNone {
		mu.Unlock()
		t.Leave(nil)
		return
	}
	b.wake.who = t
	mu.Unlock()
	err := t.Read()
	mu.Lock()
	b.wake.who = waiter
	mu.Unlock()
	t.Leave(err)
}

// change is by how many bytes the memory of what has arrived and was not taken has grown, or
// shrunk, since the last call. mu is held.
func (b *body) change() int {
	held := b.asm.Held() + b.inbox.held()
	d := held - b.held
	b.held = held
	return d
}

// maxPendingRefund is how many bytes of memory a stream may have freed without its connection knowing, and
// maxPendingWindow how many bytes of the stream's window. To tell it takes its lock, which many small
// messages would do for nothing: the connection lets far more add up before it tells the peer.
const (
	maxPendingRefund = 16 << 10
	maxPendingWindow = 8 << 10
	// restPendingRefund is maxPendingRefund while the stream waits. A connection may have very many that do: what all
	// of them hold back must not be what its bound is reached by.
	restPendingRefund = 1 << 10
)

// taken adds n bytes of window and freed ones of memory that a message took, and returns what the
// connection is to be told now. Of a stream that the peer has ended n is 0. It is for the one who
// receives.
func (b *body) taken(n, freed int) (tellN, tellFreed int) {
	n += int(b.pendingWindow)
	freed += int(b.pendingRefund)
	// Where the reader has made room for a message meanwhile, freed is below 0: that is charged at once.
	if n < maxPendingWindow && 0 <= freed && freed < maxPendingRefund {
		b.pendingWindow, b.pendingRefund = uint16(n), int32(freed)
		return 0, 0
	}
	b.pendingWindow, b.pendingRefund = 0, 0
	return n, freed
}

// rest precedes a wait of the one who receives, and returns how many bytes of memory the connection
// is to be told of now.
func (b *body) rest() (tellFreed int) {
	if b.pendingRefund < restPendingRefund {
		return 0
	}
	tellFreed = int(b.pendingRefund)
	b.pendingRefund = 0
	return tellFreed
}
