// SPDX-License-Identifier: Apache-2.0

package conn

import (
	"io"
	"net"

	"google.golang.org/grpc/internal/readyreader"
	"google.golang.org/grpc/mem"
)

const (
	// smallInput is how many bytes of an unfinished record lie in the reader
	// itself, so that they pin no pooled buffer.
	smallInput = 64
	// minChunk and maxChunk bound what one read of the socket asks for. Between
	// them the size follows the traffic. Where the buffer is held during the wait
	// the bounds are minBlind and maxBlind, room for a record of DefaultRecord:
	// many such connections may wait.
	minChunk = 32 << 10
	maxChunk = lengthSize + maxLength
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
// The bytes it holds lie in store: opened plaintext at [p0:p1], and behind that,
// at [r:w], records not yet opened, the last of them perhaps unfinished.
type reader struct {
	raw  net.Conn
	src  readyreader.Reader
	try  readyreader.TryReader // src, if it can do that; else nil
	keys *crypter
	pool mem.BufferPool
	low  *lowWater // nil: not wanted, or not to be had

	buf    *[]byte // ours to put back; nil: what there is lies in small
	r, w   int
	p0, p1 int
	small  [smallInput]byte

	chunk int     // what the next read asks for when nothing is held
	floor int     // the least chunk
	most  int     // the largest
	place placing // lends the room behind w
	err   error   // the protocol was broken: final

	retained readyreader.Retained // what a wait holds on to
}

func (r *reader) init(raw net.Conn, keys *crypter, pool mem.BufferPool) {
	r.raw, r.keys, r.pool = raw, keys, pool
	r.place.r = r
	if src, ok := readyreader.NewReader(raw); ok {
		r.src, r.floor, r.most = src, minChunk, maxChunk
		r.try, _ = src.(readyreader.TryReader)
	} else {
		r.src, r.floor, r.most = blocking{raw}, minBlind, maxBlind
	}
	r.chunk = r.floor
}

// preload makes b the first input.
func (r *reader) preload(b []byte) {
	if len(b) > smallInput {
		r.buf = r.pool.Get(len(b))
	}
	r.w = copy(r.store(), b)
}

// lend is read into a buffer that is taken from pool only when there is
// something to put into it.
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

// read fills dst with what can be had, at least one byte. It waits only before
// that.
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

// await returns when there is plaintext, or a whole record that is to have some.
func (r *reader) await(wait patience) error {
	for r.err == nil && r.p0 == r.p1 {
		size, err := r.whole()
		if err != nil {
			return r.fail(err)
		}
		switch {
		case size > overhead:
			return nil
		case size > 0: // nothing in it, but it counts
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

// take moves plaintext of one record to dst. It returns 0 when that needs input.
func (r *reader) take(dst []byte) (int, error) {
	for r.p0 == r.p1 {
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
		in := r.store()[r.r+headerSize:]
		at := r.r + headerSize
		n, err := r.open(in[:0], size)
		if err != nil {
			return 0, err
		}
		r.p0, r.p1 = at, at+n
	}
	n := copy(dst, r.store()[r.p0:r.p1])
	r.p0 += n
	return n, nil
}

// whole returns the size of the next record if all of it is here, else 0.
func (r *reader) whole() (int, error) {
	size, err := recordSize(r.store()[r.r:r.w])
	if size > r.w-r.r {
		size = 0
	}
	return size, err
}

// open opens the next record, which has size bytes and is all here, into dst.
func (r *reader) open(dst []byte, size int) (int, error) {
	rec := r.store()[r.r : r.r+size]
	p, err := r.keys.open(dst, rec[headerSize:])
	if err != nil {
		return 0, r.fail(err)
	}
	r.r += size
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
	held := r.w - r.r
	if held == 0 {
		r.drop()
		return r.fetchFirst(wait)
	}
	err := error(readyreader.ErrWouldBlock)
	if r.try != nil {
		// Room for all of the record, which may be far more than what is here; it
		// is given up again before any wait.
		r.makeRoom(r.wanted())
		_, err = r.readMore(dontWait)
	}
	if err == readyreader.ErrWouldBlock {
		r.settle()
		if !wait {
			r.low.set(1)
			r.retained.Set(r.memory())
			return err
		}
		r.makeRoom(2 * held)
		r.low.set(r.wanted() - held)
		r.retained.Set(r.memory())
		_, err = r.readMore(mayWait)
	}
	if err == nil {
		r.retained.Set(0)
	}
	return r.inputError(err)
}

// fetchFirst reads when nothing is held, into a buffer lent once input is there.
func (r *reader) fetchFirst(wait patience) error {
	r.low.set(1)
	lend := r.src.ReadOnReady
	if !wait {
		lend = r.try.TryRead
	}
	buf, n, err := lend(r.chunk, r.pool)
	if err != nil {
		return r.inputError(err)
	}
	r.buf, r.w = buf, n
	switch {
	case n == r.chunk:
		r.chunk = min(2*n, r.most)
	case n < r.chunk/4:
		r.chunk = max(r.chunk/2, r.floor)
	}
	return nil
}

// readMore reads behind w. There is room.
func (r *reader) readMore(wait patience) (int, error) {
	lend := r.src.ReadOnReady
	if !wait {
		lend = r.try.TryRead
	}
	buf, n, err := lend(r.place.size(), &r.place)
	if err == nil && buf != nil {
		r.place.keep(n)
	}
	return n, err
}

// memory is how many bytes of it are held, but for the reader's own.
func (r *reader) memory() int {
	if r.buf == nil {
		return 0
	}
	return cap(*r.buf)
}

// wanted is the size of the unfinished record at r, as far as it is known.
func (r *reader) wanted() int {
	size, _ := recordSize(r.store()[r.r:r.w])
	return max(size, smallInput)
}

// makeRoom makes room for input behind what is held. Only a full buffer is
// replaced, by one for the record but of no more than size bytes: so a peer that
// sends little at a time has its bytes moved once per doubling, or so, not with
// each of them.
func (r *reader) makeRoom(size int) {
	if r.buf == nil {
		return // place takes a buffer when input is there
	}
	held := r.w - r.r
	if held < len(*r.buf) {
		size = len(*r.buf)
	}
	size = min(size, r.wanted())
	switch {
	case size <= len(*r.buf)-r.r: // as it is
	case size <= len(*r.buf):
		copy(*r.buf, (*r.buf)[r.r:r.w])
		r.r, r.w = 0, held
	default:
		r.move(r.pool.Get(size))
	}
}

// settle gets ready for a wait: what is held moves to memory near its own size.
func (r *reader) settle() {
	if r.buf == nil || r.p0 < r.p1 {
		return
	}
	switch held := r.w - r.r; {
	case held <= smallInput:
		copy(r.small[:], (*r.buf)[r.r:r.w])
		r.drop()
		r.w = held
	case cap(*r.buf) > 2*held+slack:
		r.move(r.pool.Get(held + held/4 + smallInput))
	}
}

// move puts the unopened input at the beginning of buf, and gives the old one back.
func (r *reader) move(buf *[]byte) {
	n := copy(*buf, r.store()[r.r:r.w])
	if r.buf != nil {
		r.pool.Put(r.buf)
	}
	r.buf, r.r, r.w = buf, 0, n
}

// shed gives the buffer back when nothing is left in it.
func (r *reader) shed() {
	if r.p0 == r.p1 && r.r == r.w {
		r.drop()
	}
}

// drop forgets all input and gives the buffer back.
func (r *reader) drop() {
	if r.buf != nil {
		r.pool.Put(r.buf)
	}
	r.buf, r.r, r.w, r.p0, r.p1 = nil, 0, 0, 0, 0
	r.retained.Set(0)
}

func (r *reader) store() []byte {
	if r.buf == nil {
		return r.small[:]
	}
	return *r.buf
}

// inputError is what an error of the socket means within a record. Those that
// may pass leave everything as it is.
func (r *reader) inputError(err error) error {
	switch {
	case err == nil:
		return nil
	case err == io.EOF && r.w > r.r:
		err = io.ErrUnexpectedEOF
	case readyreader.Again(err):
		return err
	}
	r.drop()
	return err
}

// blocking reads a connection that can't be waited for. The buffer is held
// during the read.
type blocking struct{ net.Conn }

func (b blocking) ReadOnReady(size int, pool mem.BufferPool) (*[]byte, int, error) {
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

// maxEmptyReads is how many reads without a byte or an error are put up with.
const maxEmptyReads = 100
