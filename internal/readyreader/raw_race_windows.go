// SPDX-License-Identifier: Apache-2.0

//go:build race

package readyreader

import (
	"io"
	"net"
	"syscall"

	"google.golang.org/grpc/mem"
)

// rawReader waits through the RawConn, which does a read of zero bytes when its callback first returns
// false, and then reads through the net.Conn. It is for builds with the race detector: on Windows package
// net alone tells the detector that a write comes before the read of its bytes. Without that the detector
// would report races in programs that synchronise through the socket alone. There is neither TryRead nor
// TryWrite, and the connection keeps a goroutine.
type rawReader struct {
	plainConn
	rc syscall.RawConn

	onReady func(fd uintptr) bool
	waited  bool
}

// newRaw returns nil if conn shows no descriptor.
func newRaw(conn net.Conn) Layer {
	sc, ok := conn.(syscall.Conn)
	if !ok {
		return nil
	}
	rc, err := sc.SyscallConn()
	if err != nil {
		return nil
	}
	r := &rawReader{plainConn: plainConn{Conn: conn}, rc: rc}
	r.onReady = r.second
	return r
}

// Can implements Layer.
func (r *rawReader) Can() Ability { return ReadsReady }

// ReadOnReady implements Layer.
func (r *rawReader) ReadOnReady(bufSize int, pool mem.BufferPool) (*[]byte, int, error) {
	r.waited = false
	if err := r.rc.Read(r.onReady); err != nil {
		return nil, 0, renameOp(err, "read")
	}
	buf := pool.Get(bufSize)
	p := (*buf)[:min(len(*buf), max(bufSize, 0))]
	var n int
	err := io.ErrShortBuffer
	if len(p) > 0 {
		n, err = r.Read(p)
	}
	if n > 0 {
		return buf, n, nil
	}
	pool.Put(buf)
	return nil, 0, err
}

// second returns true from the second call on, that is, after the wait.
func (r *rawReader) second(uintptr) bool {
	waited := r.waited
	r.waited = true
	return waited
}

// AwaitInput does not wait here: a read does.
func AwaitInput(syscall.RawConn) error { return nil }

// HasInput returns true: only a read can tell.
func HasInput(syscall.RawConn) bool { return true }
