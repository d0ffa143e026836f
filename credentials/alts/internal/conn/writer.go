// SPDX-License-Identifier: Apache-2.0

package conn

import (
	"net"

	"google.golang.org/grpc/internal/transport/readyreader"
	"google.golang.org/grpc/mem"
)

// batch is how much plaintext is sealed for one write to the socket, unless one
// record takes more.
const batch = 256 << 10

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
	err  error // final
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

// flush writes what is sealed. An error that may pass keeps the rest for later.
func (w *writer) flush(write func([]byte) (int, error)) error {
	if w.err != nil || w.buf == nil {
		return w.err
	}
	n, err := write((*w.buf)[w.r:w.w])
	w.r += n
	if err == nil || w.r == w.w {
		w.drop()
		return nil
	}
	if !isPassing(err) {
		w.err = err // part of a record is out, and nothing can follow it
		w.drop()
	}
	return err
}

// seal fills an empty writer with records and returns how much of p they hold.
func (w *writer) seal(p []byte) (int, error) {
	if most := max(batch/w.max, 1) * w.max; len(p) > most {
		p = p[:most]
	}
	records := (len(p) + w.max - 1) / w.max
	w.buf = w.pool.Get(len(p) + records*overhead)
	out := (*w.buf)[:0]
	for n := 0; n < len(p); {
		k := min(len(p)-n, w.max)
		var err error
		out, err = w.keys.seal(appendHeader(out, k), p[n:n+k])
		if err != nil {
			w.drop()
			w.err = err
			w.raw.Close()
			return 0, err
		}
		n += k
	}
	w.r, w.w = 0, len(out)
	return len(p), nil
}

// close drops what has not left.
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
