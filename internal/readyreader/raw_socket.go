// SPDX-License-Identifier: Apache-2.0

//go:build unix || (windows && !race)

package readyreader

import (
	"io"
	"net"
	"reflect"
	"sync"
	"syscall"
	"time"

	"google.golang.org/grpc/mem"
)

// mayCount says whether reads and writes may bypass wrappers that count bytes.
const mayCount = true

// rawSocket reads and writes a plain socket's descriptor when it is ready.
//
// What one call needs is in a rawOp from a pool, and so costs an idle socket
// nothing.
type rawSocket struct {
	BaseLayer
	conn net.Conn
	rc   syscall.RawConn
}

func newRawSocket(conn net.Conn) *rawSocket {
	rc := rawConnOf(conn)
	if rc == nil || !neverWaits(rc) {
		return nil
	}
	return &rawSocket{conn: conn, rc: rc}
}

// newRaw returns nil if conn shows no descriptor, or if the system can't read and write that without
// waiting.
func newRaw(conn net.Conn) Layer {
	if s := newRawSocket(conn); s != nil {
		return s
	}
	return nil
}

// Can implements Layer.
func (s *rawSocket) Can() Ability {
	return ReadsReady | TriesReads | TriesWrites | OnSocket | vectorAbilities
}

// Drained implements Layer: nothing holds bytes between the socket and the caller.
func (s *rawSocket) Drained() bool { return true }

// RawConn implements Layer.
func (s *rawSocket) RawConn() syscall.RawConn { return s.rc }

// ReadOnReady implements Layer.
func (s *rawSocket) ReadOnReady(bufSize int, pool mem.BufferPool) (*[]byte, int, error) {
	op := takeOp()
	op.pool, op.size = pool, bufSize
	waitErr := s.rc.Read(op.onReady)
	buf, n, err := op.buf, op.n, op.err
	op.release()
	n, err = s.readResult(n, err, waitErr)
	return buf, n, err
}

// TryRead implements Layer.
func (s *rawSocket) TryRead(bufSize int, pool mem.BufferPool) (*[]byte, int, error) {
	buf := pool.Get(bufSize)
	n, err := s.TryReadInto(window(buf, bufSize))
	if n > 0 {
		return buf, n, nil
	}
	pool.Put(buf)
	if err == nil { // the pool lent a buffer without room
		err = opError("read", s.conn, io.ErrShortBuffer)
	}
	return nil, 0, err
}

// TryReadInto implements Layer.
func (s *rawSocket) TryReadInto(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	op := takeOp()
	op.p = p
	waitErr := s.rc.Read(op.onRead)
	n, err := op.n, op.err
	op.release()
	return s.readResult(n, err, waitErr)
}

func (s *rawSocket) readResult(n int, err, waitErr error) (int, error) {
	switch {
	case waitErr != nil:
		return 0, renameOp(waitErr, "read")
	case err == nil:
		return n, nil
	case err == io.EOF || err == ErrWouldBlock:
		return 0, err
	}
	return 0, opError("read", s.conn, err)
}

// TryWrite implements Layer.
func (s *rawSocket) TryWrite(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	op := takeOp()
	op.p = p
	waitErr := s.rc.Write(op.onWrite)
	n, err := op.n, op.err
	op.release()
	if n, err = s.writeResult(n, err, waitErr); err == nil && n < len(p) {
		return n, ErrWouldBlock
	}
	return n, err
}

func (s *rawSocket) writeResult(n int, err, waitErr error) (int, error) {
	switch {
	case waitErr != nil:
		return n, renameOp(waitErr, "write")
	case err == nil || err == ErrWouldBlock:
		return n, err
	}
	return n, opError("write", s.conn, err)
}

// rawOp is one call on a descriptor: the callbacks that a RawConn wants, bound
// once for all calls, and what they work on.
type rawOp struct {
	onReady func(fd uintptr) bool // wait, then buffer, then read
	onRead  func(fd uintptr) bool // read into p once
	onFill  func(fd uintptr) bool // wait, then read into p
	onWrite func(fd uintptr) bool // write p once
	onPush  func(fd uintptr) bool // write all of p, and wait

	pool mem.BufferPool
	size int
	buf  *[]byte
	p    []byte
	n    int
	err  error

	returns bool          // a write on a far path returns rather than wait for room
	trip    time.Duration // not 0: the write has returned for that; the round trip
}

var rawOps = sync.Pool{New: func() any {
	op := new(rawOp)
	op.onReady, op.onRead, op.onFill = op.readLent, op.readGiven, op.fillGiven
	op.onWrite, op.onPush = op.writeGiven, op.pushGiven
	return op
}}

func takeOp() *rawOp { return rawOps.Get().(*rawOp) }

func (op *rawOp) release() {
	op.pool, op.buf, op.p, op.n, op.err, op.trip = nil, nil, nil, 0, nil, 0
	rawOps.Put(op)
}

func (op *rawOp) readLent(fd uintptr) bool {
	buf := op.pool.Get(op.size)
	p := window(buf, op.size)
	if len(p) == 0 {
		op.pool.Put(buf)
		op.err = io.ErrShortBuffer
		return true
	}
	op.n, op.err = readOnce(int(fd), p)
	if op.n > 0 {
		op.buf = buf
		return true
	}
	op.pool.Put(buf)
	return op.err != ErrWouldBlock
}

func (op *rawOp) readGiven(fd uintptr) bool {
	op.n, op.err = readOnce(int(fd), op.p)
	return true
}

func (op *rawOp) fillGiven(fd uintptr) bool { return op.readGiven(fd) && op.err != ErrWouldBlock }

func (op *rawOp) writeGiven(fd uintptr) bool {
	op.n, op.err = writeOnce(int(fd), op.p)
	return true
}

// pushGiven writes all of p. On a far path it returns when the socket takes no more.
func (op *rawOp) pushGiven(fd uintptr) bool {
	for op.n < len(op.p) {
		n, err := writeOnce(int(fd), op.p[op.n:])
		op.n += n
		if err != nil {
			op.err = err
			return err != ErrWouldBlock || op.comesBack(fd)
		}
	}
	op.err = nil
	return true
}

func rawConnOf(conn net.Conn) syscall.RawConn {
	sc, ok := conn.(syscall.Conn)
	if v := reflect.ValueOf(conn); !ok || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil
	}
	rc, err := sc.SyscallConn()
	if err != nil {
		return nil
	}
	return rc
}

func opError(op string, conn net.Conn, err error) error {
	return &net.OpError{
		Op: op, Net: conn.LocalAddr().Network(),
		Source: conn.LocalAddr(), Addr: conn.RemoteAddr(), Err: err,
	}
}

// AwaitInput waits until a socket has input, is at its end or in error, and reads nothing.
func AwaitInput(rc syscall.RawConn) error {
	return renameOp(rc.Read(isReadable), "read")
}

// HasInput reports whether AwaitInput would return at once.
func HasInput(rc syscall.RawConn) (has bool) {
	err := rc.Control(func(fd uintptr) { has = isReadable(fd) })
	return err != nil || has
}
