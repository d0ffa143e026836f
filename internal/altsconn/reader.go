// SPDX-License-Identifier: Apache-2.0

package altsconn

import (
	"io"
	"net"

	"google.golang.org/grpc/internal/readyreader"
	"google.golang.org/grpc/mem"
)

const (
	// leastRoom is the least room for the rest of a record, in bytes.
	leastRoom = 64
	// minChunk and maxChunk bound what one read of the socket asks for. Between them the size follows the
	// traffic. If the buffer is held during the wait, the bounds are minBlind and maxBlind, which is room
	// for a record of DefaultRecord: many such connections may wait.
	minChunk = 32 << 10
	maxChunk = lengthSize + maxLength
	// Unless a record is larger, a read asks for at most bulk bytes, which stay in a cache.
	bulk     = 512 << 10
	minBlind = 4 << 10
	maxBlind = 16 << 10
	// slack is how much more than twice its content a buffer may be at a wait.
	slack = 4 << 10
)

// patience says whether a read may wait for input.
type patience bool

const (
	dontWait patience = false
	mayWait  patience = true
)

// reader is the receiving direction.
//
// It holds records that are not yet opened, of which the last may be unfinished. In front of them, in the
// place of the record that was opened last, it holds the plaintext of that.
type reader struct {
	raw  net.Conn
	src  readyreader.Layer
	try  bool // src is read without waiting, too
	keys *crypter
	low  *lowWater // nil: not wanted, or not to be had

	held  readyreader.PartialInput // not yet opened
	plain []byte                   // not yet read

	chunk int   // what the next read asks for when nothing is held
	floor int   // the least chunk
	most  int   // the largest
	err   error // the protocol was broken: final

	retained readyreader.Retained // memory that is held during a wait
}

func (r *reader) init(s readyreader.Socket, try bool, keys *crypter, pool mem.BufferPool) {
	r.raw, r.keys, r.held.Pool, r.try = s.Conn, keys, pool, try
	if s.Can().Has(readyreader.ReadsReady) {
		r.src, r.floor, r.most = s.Layer, minChunk, maxChunk
	} else {
		r.src, r.floor, r.most = &blocking{ReadWriter: s.Layer}, minBlind, maxBlind
	}
	r.chunk = r.floor
}

// preload makes b the first input.
func (r *reader) preload(b []byte) {
	if len(b) == 0 {
		return
	}
	buf := r.held.Pool.Get(len(b))
	r.held.Set(buf, copy(*buf, b))
	r.held.Settle(len(b), len(b))
}

// lend is read into a buffer that it takes from pool only when there is something to put into it.
func (r *reader) lend(size int, pool mem.BufferPool, wait patience) (*[]byte, int, error) {
	if err := r.await(wait); err != nil {
		return nil, 0, err
	}
	buf := pool.Get(size)
	n, err := r.read((*buf)[:min(len(*buf), max(size, 0))], dontWait)
	if n > 0 {
		return buf, n, nil
	}
	pool.Put(buf)
	if err == nil {
		err = io.ErrShortBuffer
	}
	return nil, 0, err
}

// read fills dst with what can be had, at least one byte. It waits only for the first byte.
func (r *reader) read(dst []byte, wait patience) (int, error) {
	if len(dst) == 0 {
		return 0, nil
	}
	if err := r.await(wait); err != nil {
		return 0, err
	}
	n := 0
	for n < len(dst) {
		k, err := r.take(dst[n:])
		if n += k; err != nil || k == 0 {
			break // the error is kept for the next call
		}
	}
	r.shed()
	if n == 0 {
		return 0, r.err
	}
	return n, nil
}

// await returns when there is plaintext, or a whole record that has some.
func (r *reader) await(wait patience) error {
	for r.err == nil && len(r.plain) == 0 {
		size, err := r.whole()
		if err != nil {
			return r.fail(err)
		}
		switch {
		case size > overhead:
			return nil
		case size > 0: // an empty record, which has a number as well
			if _, err := r.open(nil, size); err != nil {
				return err
			}
			r.shed()
		default:
			if err := r.fetch(wait); err != nil {
				return err
			}
		}
	}
	return r.err
}

// take moves plaintext of one record to dst. It returns 0 if that needs input.
func (r *reader) take(dst []byte) (int, error) {
	for len(r.plain) == 0 {
		size, err := r.whole()
		if err != nil {
			return 0, r.fail(err)
		}
		if size == 0 {
			return 0, nil
		}
		if n := size - overhead; n <= len(dst) {
			if n, err = r.open(dst[:0:n], size); err != nil || n > 0 {
				return n, err
			}
			continue
		}
		place := r.held.Bytes()[headerSize:size]
		n, err := r.open(place[:0], size)
		if err != nil {
			return 0, err
		}
		r.plain = place[:n]
	}
	n := copy(dst, r.plain)
	r.plain = r.plain[n:]
	return n, nil
}

// whole returns the size of the next record if all of it is here, else 0.
func (r *reader) whole() (int, error) {
	size, err := recordSize(r.held.Bytes())
	if size > r.held.Len() {
		size = 0
	}
	return size, err
}

// open opens the next record, which has size bytes and is all here, into dst.
func (r *reader) open(dst []byte, size int) (int, error) {
	rec := r.held.Bytes()[:size]
	p, err := r.keys.open(dst, rec[headerSize:])
	if err != nil {
		return 0, r.fail(err)
	}
	r.held.Skip(size)
	if size > r.chunk {
		r.chunk = min(size, r.most) // the next one probably needs as much
	}
	return len(p), nil
}

// fail ends the connection, for both sides: what follows can't be trusted.
func (r *reader) fail(err error) error {
	r.err = err
	r.drop()
	r.raw.Close()
	return err
}

// fetch reads at least one byte.
func (r *reader) fetch(wait patience) error {
	held := r.held.Len()
	if held == 0 {
		r.drop()
		return r.fetchFirst(wait)
	}
	err := error(readyreader.ErrWouldBlock)
	if r.try {
		// Make room for all of the record, which may be far more than what is here. The room is given up
		// again before any wait.
		r.held.Grow(r.wanted())
		err = r.fetchMore(dontWait)
	}
	if err == readyreader.ErrWouldBlock {
		r.settle()
		if !wait {
			r.low.set(1)
			r.retained.Set(r.held.Memory())
			return err
		}
		r.held.Grow(min(2*held, r.wanted()))
		r.low.set(r.wanted() - held)
		r.retained.Set(r.held.Memory())
		err = r.fetchMore(mayWait)
	}
	if err == nil {
		r.retained.Set(0)
	}
	return r.inputError(err)
}

// fetchFirst reads when nothing is held, into a buffer that it takes once input is there.
func (r *reader) fetchFirst(wait patience) error {
	r.low.set(1)
	buf, n, err := r.way(wait)(r.chunk, r.held.Pool)
	if err != nil {
		return r.inputError(err)
	}
	r.held.Set(buf, n)
	switch {
	case n == r.chunk:
		r.chunk = max(n, min(2*n, bulk, r.most))
	case n < r.chunk/4:
		r.chunk = max(r.chunk/2, r.floor)
	}
	return nil
}

// way returns the method with which to read the layer below.
func (r *reader) way(wait patience) func(size int, pool mem.BufferPool) (*[]byte, int, error) {
	if wait {
		return r.src.ReadOnReady
	}
	return r.src.TryRead
}

// fetchMore reads behind what is held.
func (r *reader) fetchMore(wait patience) error {
	loan := r.held.Borrow(0)
	size := loan.Room()
	if size == 0 {
		size = r.chunk
	}
	_, n, err := r.way(wait)(size, loan)
	loan.Done(n)
	return err
}

// wanted returns the size of the unfinished record, as far as it is known.
func (r *reader) wanted() int {
	size, _ := recordSize(r.held.Bytes())
	return max(size, leastRoom)
}

// settle gets ready for a wait: it moves what is held to memory near its own size. It leaves some room, so
// that a peer that sends little at a time does not make us move it with each byte.
func (r *reader) settle() {
	if len(r.plain) == 0 {
		held := r.held.Len()
		most := 2*held + slack
		if r.held.Memory() > most {
			most = held // the pool lent far more than the room that was asked for
		}
		r.held.Settle(most, held+held/4+leastRoom)
	}
}

// shed gives the buffer back when nothing is left in it.
func (r *reader) shed() {
	if len(r.plain) == 0 && r.held.Len() == 0 {
		r.drop()
	}
}

// drop forgets all input and gives the buffer back.
func (r *reader) drop() {
	r.held.Drop()
	r.plain = nil
	r.retained.Set(0)
}

// inputError translates an error of the socket: the end of input within a record is
// io.ErrUnexpectedEOF. A temporary error leaves the buffered input as it is, any other drops it.
func (r *reader) inputError(err error) error {
	switch {
	case err == nil:
		return nil
	case err == io.EOF && r.held.Len() > 0:
		err = io.ErrUnexpectedEOF
	case readyreader.Again(err):
		return err
	}
	r.drop()
	return err
}

// blocking reads a connection that can't be waited for without a buffer. It holds one during the read.
type blocking struct {
	readyreader.BaseLayer
	io.ReadWriter // a Layer, which returns an error that comes with bytes at the next read
}

func (b *blocking) ReadOnReady(size int, pool mem.BufferPool) (*[]byte, int, error) {
	buf := pool.Get(size)
	for range maxEmptyReads {
		n, err := b.Read(*buf)
		if n > 0 {
			return buf, n, nil
		}
		if err != nil {
			pool.Put(buf)
			return nil, 0, err
		}
	}
	pool.Put(buf)
	return nil, 0, io.ErrNoProgress
}

// maxEmptyReads is how many reads in a row may return neither a byte nor an error.
const maxEmptyReads = 100
