// SPDX-License-Identifier: Apache-2.0

package readyreader

import (
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// maxVector is how many pieces one system call takes: enough for what is written at a time, and few enough
// that a vectorOp stays small.
const maxVector = 128

// leastPiece is the length from which a piece is passed to the system by reference instead of being
// copied: twice the length at which both cost the same.
const leastPiece = 4 << 10

// vectorAbilities are the abilities that a rawSocket has on some systems only.
const vectorAbilities = TakesVectors

// LeastPiece implements Layer.
func (s *rawSocket) LeastPiece() int { return leastPiece }

// TryWriteVector implements Layer.
func (s *rawSocket) TryWriteVector(pieces [][]byte) (int, error) {
	op := takeVectorOp(pieces)
	op.wait = false
	waitErr := s.rc.Write(op.onWrite)
	n, err := op.n, op.err
	op.release()
	return s.writeResult(n, err, waitErr)
}

// WriteVector implements Layer.
func (s *rawSocket) WriteVector(pieces [][]byte) (int, error) {
	var r refill
	for done := 0; ; {
		op := takeVectorOp(pieces)
		op.wait, op.returns = true, r.wants()
		waitErr := s.rc.Write(op.onWrite)
		n, err, trip := op.n, op.err, op.trip
		pieces = op.rest
		op.release()
		if done += n; trip == 0 || waitErr != nil {
			return s.writeResult(done, err, waitErr)
		}
		r.pause(n, trip)
	}
}

func takeVectorOp(pieces [][]byte) *vectorOp {
	op := vectorOps.Get().(*vectorOp)
	op.rest = pieces
	return op
}

// vectorOp is one write of many pieces: what rawOp is for others.
type vectorOp struct {
	onWrite func(fd uintptr) bool

	rest [][]byte // not written yet
	wait bool
	n    int
	err  error

	returns bool          // see rawOp
	trip    time.Duration // see rawOp

	vector [maxVector]unix.Iovec
}

var vectorOps = sync.Pool{New: func() any {
	op := new(vectorOp)
	op.onWrite = op.write
	return op
}}

func (op *vectorOp) release() {
	op.rest, op.n, op.err, op.trip = nil, 0, nil, 0
	vectorOps.Put(op)
}

// write writes until all is written or the socket takes no more.
func (op *vectorOp) write(fd uintptr) bool {
	for op.err = nil; op.err == nil; {
		k, size := op.fill()
		if k == 0 {
			return true
		}
		n, err := writeVectorOnce(fd, op.vector[:k])
		clear(op.vector[:k])
		op.advance(n)
		if op.err = err; err == nil && n < size {
			op.err = ErrWouldBlock
		}
	}
	if op.wait && op.err == ErrWouldBlock && (op.returns || op.n >= leastRefill) {
		op.trip = farTripFor(fd)
	}
	return !op.wait || op.err != ErrWouldBlock || op.trip > 0
}

// fill puts the next pieces into the vector, and returns how many they are, and their size in bytes.
func (op *vectorOp) fill() (k, size int) {
	for _, p := range op.rest {
		if k == maxVector || size == maxRW {
			break
		}
		if len(p) == 0 {
			continue
		}
		p = p[:min(len(p), maxRW-size)]
		op.vector[k].Base = &p[0]
		op.vector[k].SetLen(len(p))
		size += len(p)
		k++
	}
	return k, size
}

// advance takes the first n bytes off op.rest.
func (op *vectorOp) advance(n int) {
	op.n += n
	for n > 0 {
		k := min(n, len(op.rest[0]))
		n -= k
		if op.rest[0] = op.rest[0][k:]; len(op.rest[0]) == 0 {
			op.rest = op.rest[1:]
		}
	}
}

// writeVectorOnce does what writeOnce does, for many pieces. No piece is empty.
func writeVectorOnce(fd uintptr, v []unix.Iovec) (int, error) {
	raceRead(&v[0], len(v))
	for {
		n, errno := sysWriteVector(fd, &v[0], len(v))
		switch {
		case errno == 0 && n > 0:
			return n, nil
		case errno == 0:
			return 0, io.ErrUnexpectedEOF // see writeOnce
		case errno == syscall.EINTR:
			continue
		case errno == syscall.EAGAIN:
			return 0, ErrWouldBlock
		}
		return 0, os.NewSyscallError("writev", errno)
	}
}
