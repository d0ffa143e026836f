// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"math"
	"sync"

	"google.golang.org/grpc/internal/transport/grpcwire"
	"google.golang.org/grpc/internal/transport/h2"
)

// body is the receiving half of a stream, on either side: the messages that have arrived, the one that is
// arriving, and the receiver that waits for them. The stream's lock guards it.
type body struct {
	asm     grpcwire.Assembler
	inbox   inbox
	wake    waker
	filling bool // the reader writes into the assembler's space
	closed  bool // what arrives is dropped
	// What the connection has not been told yet: bytes of window that were consumed, and bytes of memory
	// that were freed.
	pendingWindow uint16
	pendingRefund int32
	held          uint32 // bytes of memory that the connection was last told of
	coming        int32  // bytes of the current frame that are not here yet, though the windows count them
}

// space returns memory into which the reader puts the next bytes, at most n of them. It may reserve ahead
// bytes for them. mu is held.
func (b *body) space(n, ahead int) []byte {
	b.coming = int32(n)
	if b.closed {
		return make([]byte, min(n, 4<<10)) // the body was closed in the middle of a frame
	}
	p := b.asm.Space(n, ahead)
	b.filling = len(p) > 0
	return p
}

// piece is the next n bytes of a body: the bytes of p, for whose message ahead bytes may be reserved, and
// which rest bytes of the same frame follow; or, if p is nil, the bytes that the reader has put into the
// last Space.
type piece struct {
	p              []byte
	n, ahead, rest int
}

// take takes a piece. expect is how many bytes the window should have room for, because the receiver waits
// for them. mu is held.
func (b *body) take(pc piece, t *traffic) (expect int, err error) {
	if pc.p == nil {
		return b.filled(pc.n, t)
	}
	b.coming = int32(pc.rest)
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

// filled takes the n bytes that the reader has put into the assembler's last Space. mu is held.
func (b *body) filled(n int, t *traffic) (expect int, err error) {
	b.filling = false
	b.coming -= int32(n)
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

// If the reader has read pileFrom bytes at once while pileMost bytes wait to be taken, it lets other
// goroutines run. If the receiver shares a processor with the reader, it would otherwise not run before the
// socket is empty. Megabytes of messages would then be live for the garbage collector, which lets the heap
// grow to several times that.
const (
	pileFrom = 16 << 10
	pileMost = 128 << 10
)

// piles reports whether the reader, which has read n bytes at once, should let others run. mu is held.
func (b *body) piles(n int) bool { return n >= pileFrom && b.inbox.held() >= pileMost }

// wanted returns expect, or 0 if nobody waits for messages. mu is held.
func (b *body) wanted() int {
	if b.wake.reason == wakeNone || b.wake.reason == wakeOver {
		return 0
	}
	return b.expect()
}

// expect returns how many bytes the peer has to send before the receiver can consume anything. It is called
// after each frame of a message, not only at its beginning: padding uses up the window too.
func (b *body) expect() int { return max(b.lacks()-int(b.coming), 0) }

// lacks returns how many bytes must arrive before the receiver can consume anything.
func (b *body) lacks() int {
	switch {
	case b.asm.InMessage():
		return b.asm.Missing()
	case b.inbox.first.Len > minWindow/2:
		// A receiver that waits for the end does not take this message before that. The message may have
		// used up the window, and a second message would end the wait, too.
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

// close drops the messages that were not taken, and whatever arrives later. mu is held.
func (b *body) close() {
	b.closed = true
	b.inbox.drop()
	if !b.filling {
		b.asm.Abort()
	}
}

// await waits for r, and for nothing else. mu is the stream's lock, which is held before and after.
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

// read reads the connection on the caller's goroutine, if nobody else reads it, until waiter would be
// woken, or something comes in between. mu is not held.
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
	left := true
	defer func() {
		if left { // by code of the program, such as a wrapper that counts: at a panic a lock may be held here
			go b.leave(mu, t, waiter, h2.ErrReaderLeft)
		}
	}()
	err := t.Read()
	left = false
	b.leave(mu, t, waiter, err)
}

// leave gives the reader's role back: see h2.InlineReader.Leave. From then on waiter is woken. mu is not held.
func (b *body) leave(mu *sync.Mutex, t *h2.InlineReader, waiter *condWaiter, err error) {
	mu.Lock()
	if b.wake.who == t { // otherwise the goroutine that has left Read waits again
		b.wake.who = waiter
	}
	mu.Unlock()
	t.Leave(err)
}

// change returns by how many bytes the memory of what has arrived and was not taken has grown since the
// last call; it is negative if that has shrunk. More than 4 GiB count as that. mu is held.
func (b *body) change() int {
	held := uint32(min(uint64(b.asm.Held()+b.inbox.held()), math.MaxUint32))
	d := int64(held) - int64(b.held)
	b.held = held
	return int(d)
}

// maxPendingRefund is how many bytes of memory a stream may have freed before it tells its connection, and
// maxPendingWindow is the same for bytes of the stream's window. Telling takes the connection's lock. Many
// small messages would take it for nothing: the connection lets far more add up before it tells the peer.
const (
	maxPendingRefund = 16 << 10
	maxPendingWindow = 8 << 10
	// restPendingRefund is maxPendingRefund while the stream waits. A connection may have very many streams
	// that wait: what they all hold back must not make the connection reach its bound.
	restPendingRefund = 1 << 10
)

// taken adds n bytes of window and freed bytes of memory that a message took, and returns what to tell the
// connection now. n is 0 if the peer has ended the stream. Only the receiver calls it.
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

// rest is called before the receiver waits. It returns how many bytes of memory to tell the connection of
// now.
func (b *body) rest() (tellFreed int) {
	if b.pendingRefund < restPendingRefund {
		return 0
	}
	tellFreed = int(b.pendingRefund)
	b.pendingRefund = 0
	return tellFreed
}
