// SPDX-License-Identifier: Apache-2.0

//go:build unix

package readyreader

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"

	"google.golang.org/grpc/mem"
)

// maxRW bounds one system call: some systems reject or cut larger transfers.
const maxRW = 1 << 30

// rawReader reads a plain socket's descriptor when it is ready.
//
// It uses syscall.Read rather than package unix's: only the former orders reads
// and writes for the race detector through the same variable as package net.
// Programs that synchronise through the socket alone would otherwise be blamed
// for races they don't have.
//
// The fields below conn belong to the one reader. What a call needs lives here,
// not in a closure, so that a read allocates nothing.
type rawReader struct {
	conn net.Conn
	rc   syscall.RawConn

	onReady func(fd uintptr) bool // wait, then buffer, then read
	onTry   func(fd uintptr) bool // read into p once
	pool    mem.BufferPool
	size    int
	buf     *[]byte
	p       []byte
	n       int
	err     error
}

func newRawReader(conn net.Conn) Reader {
	rc := rawConnOf(conn)
	if rc == nil {
		return nil
	}
	r := &rawReader{conn: conn, rc: rc}
	r.onReady = r.readLent
	r.onTry = r.readGiven
	return r
}

// RawConn returns the socket, to wait on.
func (r *rawReader) RawConn() syscall.RawConn { return r.rc }

// ReadOnReady implements Reader.
func (r *rawReader) ReadOnReady(bufSize int, pool mem.BufferPool) (*[]byte, int, error) {
	r.pool, r.size = pool, bufSize
	waitErr := r.rc.Read(r.onReady)
	buf := r.buf
	r.pool, r.buf = nil, nil
	n, err := r.result(waitErr)
	return buf, n, err
}

// TryRead implements TryReader.
func (r *rawReader) TryRead(bufSize int, pool mem.BufferPool) (*[]byte, int, error) {
	buf := pool.Get(bufSize)
	n, err := r.TryReadInto(window(buf, bufSize))
	if n > 0 {
		return buf, n, nil
	}
	pool.Put(buf)
	if err == nil { // the pool lent a buffer without room
		err = r.opError(io.ErrShortBuffer)
	}
	return nil, 0, err
}

// TryReadInto implements InPlaceReader.
func (r *rawReader) TryReadInto(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	r.p = p
	waitErr := r.rc.Read(r.onTry)
	r.p = nil
	return r.result(waitErr)
}

// readLent runs inside rc.Read, which calls it again when the socket is ready
// each time that it returns false. The buffer is held only if it got bytes.
func (r *rawReader) readLent(fd uintptr) bool {
	buf := r.pool.Get(r.size)
	p := window(buf, r.size)
	if len(p) == 0 {
		r.pool.Put(buf)
		r.err = io.ErrShortBuffer
		return true
	}
	r.n, r.err = readOnce(int(fd), p)
	if r.n > 0 {
		r.buf = buf
		return true
	}
	r.pool.Put(buf)
	return r.err != ErrWouldBlock
}

func (r *rawReader) readGiven(fd uintptr) bool {
	r.n, r.err = readOnce(int(fd), r.p)
	return true
}

// result takes the outcome of a call out of the struct. waitErr is rc.Read's
// own: the connection is closed or its deadline has passed; then the callback
// last said ErrWouldBlock or did not run.
func (r *rawReader) result(waitErr error) (int, error) {
	n, err := r.n, r.err
	r.n, r.err = 0, nil
	switch {
	case waitErr != nil:
		return 0, renameOp(waitErr, "read")
	case err == nil:
		return n, nil
	case err == io.EOF || err == ErrWouldBlock:
		return 0, err
	}
	return 0, r.opError(err)
}

func (r *rawReader) opError(err error) error { return opError("read", r.conn, err) }

// rawWriter writes to a plain socket. TryWrite's state is kept here for the
// same reason as rawReader's; Write is the connection's own.
type rawWriter struct {
	conn net.Conn
	rc   syscall.RawConn

	onTry func(fd uintptr) bool
	p     []byte
	n     int
	err   error
}

func newRawWriter(conn net.Conn) (Writer, bool) {
	rc := rawConnOf(conn)
	if rc == nil {
		return nil, false
	}
	w := &rawWriter{conn: conn, rc: rc}
	w.onTry = w.writeGiven
	return w, true
}

// Write implements Writer.
func (w *rawWriter) Write(p []byte) (int, error) { return w.conn.Write(p) }

// TryWrite implements Writer.
func (w *rawWriter) TryWrite(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	w.p = p
	waitErr := w.rc.Write(w.onTry)
	n, err := w.n, w.err
	w.p, w.n, w.err = nil, 0, nil
	switch {
	case waitErr != nil:
		return 0, renameOp(waitErr, "write")
	case err == ErrWouldBlock:
		return n, err
	case err != nil:
		return n, opError("write", w.conn, err)
	case n < len(p):
		return n, ErrWouldBlock
	}
	return n, nil
}

func (w *rawWriter) writeGiven(fd uintptr) bool {
	w.n, w.err = writeOnce(int(fd), w.p)
	return true
}

// readOnce reads once into a non-empty p: n > 0 or an error.
func readOnce(fd int, p []byte) (int, error) {
	for {
		n, err := syscall.Read(fd, p[:min(len(p), maxRW)])
		switch {
		case n > 0:
			return n, nil
		case err == nil:
			return 0, io.EOF // the peer's FIN
		case err == syscall.EINTR:
			continue
		case err == syscall.EAGAIN:
			return 0, ErrWouldBlock
		}
		return 0, os.NewSyscallError("read", err)
	}
}

func writeOnce(fd int, p []byte) (int, error) {
	for {
		n, err := syscall.Write(fd, p[:min(len(p), maxRW)])
		switch {
		case n > 0:
			return n, nil
		case err == nil:
			return 0, io.ErrUnexpectedEOF // as net.Conn reports it; no system does this
		case err == syscall.EINTR:
			continue
		case err == syscall.EAGAIN:
			return 0, ErrWouldBlock
		}
		return 0, os.NewSyscallError("write", err)
	}
}

func rawConnOf(conn net.Conn) syscall.RawConn {
	sc, ok := conn.(syscall.Conn)
	if !ok {
		return nil
	}
	rc, err := sc.SyscallConn()
	if err != nil {
		return nil
	}
	return rc
}

// window is the part of a lent buffer to read into: no more than was asked for,
// whatever length the pool gave it.
func window(buf *[]byte, size int) []byte {
	p := *buf
	return p[:min(len(p), max(size, 0))]
}

func opError(op string, conn net.Conn, err error) error {
	return &net.OpError{
		Op: op, Net: conn.LocalAddr().Network(),
		Source: conn.LocalAddr(), Addr: conn.RemoteAddr(), Err: err,
	}
}

// renameOp turns the raw-read of a RawConn's error into the read of a Conn's.
func renameOp(err error, op string) error {
	var oe *net.OpError
	if errors.As(err, &oe) {
		c := *oe
		c.Op = op
		return &c
	}
	return err
}
