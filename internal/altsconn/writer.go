// SPDX-License-Identifier: Apache-2.0

package altsconn

import (
	"errors"
	"net"

	"google.golang.org/grpc/internal/readyreader"
	"google.golang.org/grpc/mem"
)

// sealChunk is how much plaintext is sealed for one write to the socket, unless one
// record takes more.
const sealChunk = 256 << 10

// leastPiece is the length from which a piece has records of its own: to seal and to open one more then
// takes far less time than to copy the piece to others.
const leastPiece = 64 << 10

// writer is the sending direction. Between calls it holds a buffer only if the
// socket has not taken all of it: [r:w] of buf.
type writer struct {
	sock readyreader.Socket
	keys *crypter
	pool mem.BufferPool
	max  int // plaintext bytes of a record at most

	buf  *[]byte
	r, w int
	err  error // final: nothing is written after it
}

func (w *writer) init(s readyreader.Socket, keys *crypter, maxRecord int, pool mem.BufferPool) {
	w.sock, w.keys, w.pool = s, keys, pool
	if maxRecord == 0 {
		maxRecord = DefaultRecord
	}
	w.max = min(max(maxRecord, MinRecord), MaxRecord) - overhead
}

// write seals all pieces, and writes them with by.
func (w *writer) write(pieces [][]byte, by func([]byte) (int, error)) (n int, err error) {
	left := 0
	for _, p := range pieces {
		left += len(p)
	}
	for {
		if err := w.flush(by); err != nil || left == 0 {
			return n, err
		}
		size := w.share(left)
		if err := w.seal(pieces, size); err != nil {
			return n, err
		}
		n += size
		left -= size
	}
}

// errWriterLeft ends writing if code of the program, such as a wrapper's Write, has ended the goroutine.
var errWriterLeft = errors.New("altsconn: code of the program ended the goroutine that writes")

// flush writes what is sealed. After an error that may pass, it keeps the rest for later.
func (w *writer) flush(write func([]byte) (int, error)) error {
	if w.err != nil || w.buf == nil {
		return w.err
	}
	left := true
	defer func() {
		if left { // by code of the program: it is not known how much of a record is out
			w.err = errWriterLeft
			w.drop()
		}
	}()
	n, err := write((*w.buf)[w.r:w.w])
	left = false
	w.r += n
	if err == nil {
		w.drop()
		return nil
	}
	// Even if all of it was taken, a layer below may hold some back: then the next flush, of nothing, goes
	// on with that.
	if !readyreader.Again(err) {
		w.err = err // part of a record is out, and nothing can follow it
		w.drop()
	}
	return err
}

// share returns how many of left bytes of plaintext to seal next: whole records, and a small rest along
// with the last of them.
func (w *writer) share(left int) int {
	most := max(sealChunk/w.max, 1) * w.max
	if left <= most+most/4 {
		return left
	}
	return most
}

// seal fills an empty writer with the first size bytes of the pieces, and takes these off the pieces. Each
// piece has records of its own: the cipher takes one piece of memory at a time.
func (w *writer) seal(pieces [][]byte, size int) error {
	w.buf = w.pool.Get(size + (size/w.max+len(pieces))*overhead)
	out := (*w.buf)[:0]
	for i := range pieces {
		p := pieces[i][:min(len(pieces[i]), size)]
		var err error
		if out, err = w.appendRecords(out, p); err != nil {
			w.drop()
			w.err = err
			w.sock.Conn.Close()
			return err
		}
		pieces[i] = pieces[i][len(p):]
		size -= len(p)
	}
	w.r, w.w = 0, len(out)
	return nil
}

func (w *writer) appendRecords(out, p []byte) ([]byte, error) {
	for len(p) > 0 {
		n := min(len(p), w.max)
		var err error
		if out, err = w.keys.seal(appendHeader(out, n), p[:n]); err != nil {
			return out, err
		}
		p = p[n:]
	}
	return out, nil
}

// close drops what was not sent.
func (w *writer) close() {
	w.drop()
	if w.err == nil {
		w.err = net.ErrClosed
	}
}

func (w *writer) drop() {
	if w.buf != nil {
		w.pool.Put(w.buf)
	}
	w.buf, w.r, w.w = nil, 0, 0
}
