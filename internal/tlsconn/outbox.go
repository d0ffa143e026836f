// SPDX-License-Identifier: Apache-2.0

package tlsconn

import (
	"errors"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/mem"
)

const (
	// chunkSize is how much plaintext is encrypted for one write to the socket. A peer
	// that does not read makes us hold one chunk.
	chunkSize = 128 << 10
	// leastPiece is the length from which a piece has records of its own: to seal and to open one more then
	// takes far less time than to copy the piece to others.
	leastPiece = 64 << 10
	// recordCost is more than TLS adds to a record: header, nonce, tag, padding.
	recordCost = 96
	maxPlain   = 16 << 10

	// maxOutbox bounds the records that wait for room in the socket. Half of it is for records that a peer
	// makes us send: a peer that reads nothing can't make us collect answers to its KeyUpdates without end.
	maxOutbox = 2 * chunkSize
)

var errPeerNotReading = errors.New("tlsconn: the peer does not read what it asks for")

// outbox gathers the records that tls.Conn writes, in order, until they are sent.
type outbox struct {
	// A goroutine holds send while it moves records to the socket, which may wait.
	send sync.Mutex

	mu sync.Mutex
	// Guarded by mu.
	b       []byte  // records not sent
	p       *[]byte // the lent buffer that b is a part of
	err     error   // final
	waiting bool    // a goroutine is about to send

	added atomic.Uint32 // how often add was called
}

// add appends a record. The caller holds tls.Conn's lock for writing, so that
// records are added in the order of their numbers.
func (o *outbox) add(record []byte, pool mem.BufferPool) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.added.Add(1)
	if o.err != nil {
		return o.err
	}
	if len(o.b)+len(record) > maxOutbox {
		return errPeerNotReading
	}
	o.reserve(len(record), pool)
	o.b = append(o.b, record...)
	return nil
}

// prepare makes room for n bytes that are about to be added.
func (o *outbox) prepare(n int, pool mem.BufferPool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.reserve(n, pool)
	}
}

// trim gives the buffer back if nothing was added.
func (o *outbox) trim(pool mem.BufferPool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.b) == 0 {
		o.replace(nil, nil, pool)
	}
}

// reserve makes room for n more bytes. mu is held.
func (o *outbox) reserve(n int, pool mem.BufferPool) {
	if cap(o.b)-len(o.b) >= n {
		return
	}
	p := pool.Get(max(len(o.b)+n, cap(o.b)+cap(o.b)/4))
	o.replace((*p)[:copy(*p, o.b)], p, pool)
}

// replace makes b, which lies in p, the records that wait. mu is held.
func (o *outbox) replace(b []byte, p *[]byte, pool mem.BufferPool) {
	if o.p != nil {
		pool.Put(o.p)
	}
	o.b, o.p = b, p
}

// take empties the box.
func (o *outbox) take() ([]byte, *[]byte, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	b, p := o.b, o.p
	o.b, o.p = nil, nil
	return b, p, o.err
}

// putBack puts back the rest of what was taken, in front of what was added since.
func (o *outbox) putBack(rest []byte, p *[]byte, pool mem.BufferPool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil && len(o.b) == 0 && len(rest) > len(*p)/4 {
		o.replace(rest, p, pool)
		return
	}
	if o.err == nil { // else there is nobody to send it to
		q := pool.Get(len(rest) + len(o.b))
		n := copy(*q, rest)
		n += copy((*q)[n:], o.b)
		o.replace((*q)[:n], q, pool)
	}
	pool.Put(p)
}

// fail ends writing. It returns the first error that did so.
func (o *outbox) fail(err error, pool mem.BufferPool) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.err = err
	}
	o.replace(nil, nil, pool)
	return o.err
}

func (o *outbox) pending() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.b) > 0
}
