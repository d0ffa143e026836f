// SPDX-License-Identifier: Apache-2.0

//go:build linux && !386 && !s390x

package readyreader

import (
	"net"
	"os"
	"reflect"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"google.golang.org/grpc/mem"
)

// known reads a wrapper of which it is known by its name what it does: it may take a header off the stream
// and look at what comes first, but has no goroutine that reads, sets no deadlines once it has returned
// something, returns at once what it holds, and reads on after a deadline. So its socket can be waited for
// while it holds nothing.
//
// That is known by an account: the kernel counts what the socket received, and this counts what the wrapper
// returned. What it has taken for good is the difference when a Read of it was ended by a deadline with
// nothing, and the socket is empty: what it held it would have returned. From then on it holds nothing
// whenever the socket is empty and the difference is that one.
type known struct {
	BaseLayer
	conn net.Conn // the wrapper
	rc   syscall.RawConn
	out  Layer // is written

	// Owned by the reader.
	returned uint64 // bytes that the wrapper returned
	taken    uint64 // and that it has taken for good
	learned  bool   // how many these are is known
	err      error  // came with the last bytes
}

// knownTypes are those whose pointers are such wrappers, by their packages: implementations of the PROXY
// protocol, and a port for several protocols.
var knownTypes = map[string]string{
	"github.com/pires/go-proxyproto": "Conn",
	"github.com/armon/go-proxyproto": "Conn",
	"github.com/soheilhy/cmux":       "MuxConn",
}

// isKnown reports whether conn, or what it leaves its Read to, is one.
func isKnown(conn net.Conn) bool {
	in := descend(conn, inward)
	if in.end == nil || in.layer != nil {
		return false
	}
	t := reflect.TypeOf(in.end)
	if t.Kind() != reflect.Pointer {
		return false
	}
	t = t.Elem()
	path := t.PkgPath()
	if _, vendored, ok := strings.Cut(path, "/vendor/"); ok {
		path = vendored
	}
	return t.Name() != "" && knownTypes[path] == t.Name()
}

// newKnown returns nil if conn is no such wrapper around a TCP socket.
func newKnown(conn net.Conn, out Layer) Layer {
	if !isKnown(conn) {
		return nil
	}
	if k := newCounted(conn, out); k != nil {
		return k
	}
	return nil
}

func newCounted(conn net.Conn, out Layer) *known {
	sock := SocketBelow(conn)
	if sock == nil {
		return nil
	}
	k := &known{conn: conn, rc: rawConnOf(sock), out: out}
	if k.rc == nil {
		return nil
	}
	if _, open := k.received(); !open {
		return nil
	}
	return k
}

// Can implements Layer.
func (k *known) Can() Ability {
	return TriesReads | OnSocket | k.out.Can()&TriesWrites
}

// RawConn implements Layer.
func (k *known) RawConn() syscall.RawConn { return k.rc }

// ReadOnReady implements Layer. It waits with a buffer.
func (k *known) ReadOnReady(size int, pool mem.BufferPool) (*[]byte, int, error) {
	buf := pool.Get(size)
	n, err := k.Read(window(buf, size))
	if n > 0 {
		return buf, n, nil
	}
	pool.Put(buf)
	return nil, 0, err
}

// TryRead implements Layer. Where the wrapper may hold something the error is that of a deadline: it is to
// be waited for.
func (k *known) TryRead(size int, pool mem.BufferPool) (*[]byte, int, error) {
	switch {
	case k.err != nil || HasInput(k.rc):
		return k.ReadOnReady(size, pool)
	case k.isEven():
		return nil, 0, ErrWouldBlock
	}
	return nil, 0, os.ErrDeadlineExceeded
}

// TryReadInto implements Layer.
func (k *known) TryReadInto(p []byte) (int, error) {
	if len(p) > 0 && k.err == nil && !HasInput(k.rc) {
		return 0, ErrWouldBlock
	}
	return k.Read(p)
}

// Read implements net.Conn: n > 0, or an error.
func (k *known) Read(p []byte) (int, error) {
	if len(p) == 0 || k.err != nil {
		return 0, k.err
	}
	n, err := readThrough(k.conn, p)
	if n > 0 {
		k.returned += uint64(n)
		if !isTimeout(err) {
			k.err = err
		}
		return n, nil
	}
	if isTimeout(err) && k.returned > 0 {
		k.learn()
	}
	return 0, err
}

// learn follows a Read that a deadline has ended with nothing. Input that has come since is not yet read.
func (k *known) learn() {
	before, _ := k.received()
	empty := !HasInput(k.rc)
	if after, open := k.received(); open && empty && after == before {
		k.taken, k.learned = after-k.returned, true
	}
}

// isEven reports whether the wrapper holds nothing. What comes during the look is received, and not missed.
func (k *known) isEven() bool {
	if !k.learned || HasInput(k.rc) {
		return false
	}
	n, open := k.received()
	return open && n == k.returned+k.taken
}

// received returns how many bytes the socket has received, read or not, and whether it is open in both
// directions; false where that is not counted.
func (k *known) received() (n uint64, open bool) {
	_ = k.rc.Control(func(fd uintptr) { n, open = received(fd) }) // it fails on a connection that is closed
	return n, open
}

// received is the same of a descriptor. unix.GetsockoptTCPInfo does not say how much of the struct the kernel
// has filled in: an old one doesn't count, and must not be taken to have received nothing.
func received(fd uintptr) (n uint64, open bool) {
	var info unix.TCPInfo
	want := uint32(unsafe.Offsetof(info.Bytes_received) + unsafe.Sizeof(info.Bytes_received))
	size := want
	_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, fd, unix.IPPROTO_TCP, unix.TCP_INFO,
		uintptr(unsafe.Pointer(&info)), uintptr(unsafe.Pointer(&size)), 0)
	if errno != 0 || size < want {
		return 0, false
	}
	return info.Bytes_received, info.State == unix.BPF_TCP_ESTABLISHED
}

// Write implements Layer.
func (k *known) Write(p []byte) (int, error) { return k.out.Write(p) }

// TryWrite implements Layer.
func (k *known) TryWrite(p []byte) (int, error) { return k.out.TryWrite(p) }
