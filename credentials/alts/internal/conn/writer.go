// SPDX-License-Identifier: Apache-2.0

package conn

import (
	"net"

	"google.golang.org/grpc/internal/readyreader"
	"google.golang.org/grpc/mem"
)

// sealChunk is how much plaintext is sealed for one write to the socket, unless one
// record takes more.
const sealChunk = 256 << 10

// writer is the sending direction. Between calls it holds a buffer only if the
// socket has not taken all of it: [r:w] of buf.
type writer struct {
	raw  net.Conn
	try  readyreader.Writer // nil: raw can't be written without waiting
	keys *crypter
	pool mem.BufferPool
	max  int // plaintext bytes of a record at most

	buf  *[]byte
	r, w int
	err  error // final: nothing is written after it
}

func (w *writer) init(raw net.Conn, keys *crypter, maxRecord int, pool mem.BufferPool) {
	w.raw, w.keys, w.pool = raw, keys, pool
	w.try, _ = readyreader.NewWriter(raw)
	if maxRecord == 0 {
		maxRecord = DefaultRecord
	}
	w.max = min(max(maxRecord, MinRecord), MaxRecord) - overhead
}

// write seals and writes all of p, waiting.
func (w *writer) write(p []byte) (n int, err error) {
	for {
		if err := w.flush(w.raw.Write); err != nil || n == len(p) {
			return n, err
		}
		k, err := w.seal(p[n:])
		if n += k; err != nil {
			return n, err
		}
	}
}

// tryWrite seals and writes as much of p as it can without waiting.
func (w *writer) tryWrite(p []byte) (n int, err error) {
	for {
		if err := w.flush(w.try.TryWrite); err != nil || n == len(p) {
			return n, err
		}
		k, err := w.seal(p[n:])
		if n += k; err != nil {
			return n, err
		}
	}
}

// tryWritePair is tryWrite of p and then q, in one write to the socket if they are
// no more than that takes.
func (w *writer) tryWritePair(p, q []byte) (n int, err error) {
	if err := w.flush(w.try.TryWrite); err != nil {
		return 0, err
	}
	if most := w.most(); len(p) == 0 || len(p)+len(q) > most+most/4 || len(q) > most {
		if n, err = w.tryWrite(p); err != nil {
			return n, err
		}
		m, err := w.tryWrite(q)
		return n + m, err
	}
	if err := w.sealAll(p, q); err != nil {
		return 0, err
	}
	return len(p) + len(q), w.flush(w.try.TryWrite)
}

// flush writes what is sealed. An error that may pass keeps the rest for later.
func (w *writer) flush(write func([]byte) (int, error)) error {
	if w.err != nil || w.buf == nil {
		return w.err
	}
	n, err := write((*w.buf)[w.r:w.w])
	w.r += n
	if err == nil {
		w.drop()
		return nil
	}
	// Even with all of it taken some may be held back by a layer below: then the
	// next flush, of nothing, goes on with that.
	if !readyreader.Again(err) {
		w.err = err // part of a record is out, and nothing can follow it
		w.drop()
	}
	return err
}

// most is how much plaintext is sealed at a time: whole records.
func (w *writer) most() int { return max(sealChunk/w.max, 1) * w.max }

// seal fills an empty writer with records and returns how much of p they hold.
func (w *writer) seal(p []byte) (int, error) {
	if most := w.most(); len(p) > most {
		p = p[:most]
	}
	if err := w.sealAll(p, nil); err != nil {
		return 0, err
	}
	return len(p), nil
}

// sealAll fills an empty writer with p and q, each in records of its own: the cipher
// takes one piece of memory at a time.
func (w *writer) sealAll(p, q []byte) error {
	records := (len(p)+w.max-1)/w.max + (len(q)+w.max-1)/w.max
	w.buf = w.pool.Get(len(p) + len(q) + records*overhead)
	out, err := w.appendRecords((*w.buf)[:0], p)
	if err == nil {
		out, err = w.appendRecords(out, q)
	}
	if err != nil {
		w.drop()
		w.err = err
		w.raw.Close()
		return err
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
