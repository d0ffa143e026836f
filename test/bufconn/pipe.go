// SPDX-License-Identifier: Apache-2.0

package bufconn

import (
	"io"
	"os"
	"sync"
	"time"

	"google.golang.org/grpc/internal/readyreader"
)

// firstSize is the first size of a pipe's buffer, in bytes. The size doubles up to the limit.
const firstSize = 4 << 10

// pipe carries the bytes of one direction.
type pipe struct {
	limit int // immutable

	mu           sync.Mutex
	ring         []byte
	start, count int // the unread bytes are the count bytes from start on, wrapping round the end
	reader       end
	writer       end
}

// end is the reading or the writing end of a pipe. The pipe's lock guards it.
type end struct {
	closed bool
	wake   *sync.Cond // broadcast when something has changed that this end may wait for

	// expired says that the deadline is over. changes counts the deadlines that were
	// set: a timer that fires late sees by it that its deadline was replaced.
	expired bool
	timer   *time.Timer
	changes int
}

func newPipe(limit int) *pipe {
	p := &pipe{limit: limit}
	p.reader.wake = sync.NewCond(&p.mu)
	p.writer.wake = sync.NewCond(&p.mu)
	return p
}

// awaitInput waits until there is something to read, and then returns nil.
func (p *pipe) awaitInput() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.awaitInputLocked()
}

func (p *pipe) awaitInputLocked() error {
	for {
		if err := p.inputState(); err != readyreader.ErrWouldBlock {
			return err
		}
		p.reader.wake.Wait()
	}
}

// inputState returns nil if there is something to read, and ErrWouldBlock if there is
// nothing yet.
func (p *pipe) inputState() error {
	switch {
	case p.reader.closed:
		return io.ErrClosedPipe
	case p.reader.expired:
		return os.ErrDeadlineExceeded
	case p.count > 0:
		return nil
	case p.writer.closed:
		return io.EOF
	}
	return readyreader.ErrWouldBlock
}

func (p *pipe) read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(b) == 0 {
		return 0, nil
	}
	if err := p.awaitInputLocked(); err != nil {
		return 0, err
	}
	return p.take(b), nil
}

func (p *pipe) tryRead(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.inputState(); err != nil {
		return 0, err
	}
	return p.take(b), nil
}

// outputState returns nil if there is room, and ErrWouldBlock if there is none yet.
func (p *pipe) outputState() error {
	switch {
	case p.writer.closed, p.reader.closed:
		return io.ErrClosedPipe
	case p.writer.expired:
		return os.ErrDeadlineExceeded
	case p.count < p.limit:
		return nil
	}
	return readyreader.ErrWouldBlock
}

func (p *pipe) write(b []byte) (written int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for written < len(b) {
		switch err := p.outputState(); {
		case err == readyreader.ErrWouldBlock:
			p.writer.wake.Wait()
			continue
		case err != nil:
			return written, err
		}
		written += p.put(b[written:])
	}
	return written, nil
}

func (p *pipe) tryWrite(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(b) == 0 {
		return 0, nil
	}
	if err := p.outputState(); err != nil {
		return 0, err
	}
	n := p.put(b)
	if n < len(b) {
		return n, readyreader.ErrWouldBlock
	}
	return n, nil
}

// take moves bytes from the ring to b.
func (p *pipe) take(b []byte) int {
	n := min(len(b), p.count)
	first := copy(b[:n], p.ring[p.start:])
	copy(b[first:n], p.ring)
	p.start = (p.start + n) % len(p.ring)
	p.count -= n
	if p.count == 0 {
		p.start = 0 // so that the next write is likely to need only one copy
	}
	p.writer.wake.Broadcast()
	return n
}

// put copies bytes from b into the ring, as many as the limit allows.
func (p *pipe) put(b []byte) int {
	n := min(len(b), p.limit-p.count)
	if n == 0 {
		return 0
	}
	p.grow(p.count + n)
	at := (p.start + p.count) % len(p.ring)
	first := copy(p.ring[at:], b[:n])
	copy(p.ring, b[first:n])
	p.count += n
	p.reader.wake.Broadcast()
	return n
}

func (p *pipe) grow(need int) {
	if need <= len(p.ring) {
		return
	}
	size := max(len(p.ring), firstSize)
	for size < need {
		size *= 2
	}
	ring := make([]byte, min(size, p.limit))
	first := copy(ring[:p.count], p.ring[p.start:])
	copy(ring[first:p.count], p.ring)
	p.ring, p.start = ring, 0
}

// closeReader closes the reading end, and drops the unread bytes.
func (p *pipe) closeReader() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ring, p.start, p.count = nil, 0, 0
	p.closeEnd(&p.reader)
}

func (p *pipe) closeWriter() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closeEnd(&p.writer)
}

// closeEnd closes an end. It wakes both ends, because each may wait for the other.
func (p *pipe) closeEnd(e *end) {
	e.closed = true
	p.setDeadline(e, time.Time{})
	p.reader.wake.Broadcast()
	p.writer.wake.Broadcast()
}

func (p *pipe) setReadDeadline(t time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.setDeadline(&p.reader, t)
}

func (p *pipe) setWriteDeadline(t time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.setDeadline(&p.writer, t)
}

// setDeadline replaces the deadline of an end. The zero time means no deadline.
func (p *pipe) setDeadline(e *end, t time.Time) {
	if e.timer != nil {
		e.timer.Stop()
		e.timer = nil
	}
	e.changes++
	e.expired = false
	if t.IsZero() || e.closed {
		return
	}
	left := time.Until(t)
	if left <= 0 {
		e.expire()
		return
	}
	change := e.changes
	e.timer = time.AfterFunc(left, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if e.changes == change {
			e.expire()
		}
	})
}

func (e *end) expire() {
	e.expired = true
	e.wake.Broadcast()
}
