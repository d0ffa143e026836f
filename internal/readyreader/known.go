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

// known reads a wrapper whose type is in knownTypes, so that it is known what the wrapper does. It may take
// a header off the stream and look at what comes first. But it has no goroutine that reads, it sets no
// deadlines after it has returned its first bytes, it returns at once what it holds, and it reads on after
// a deadline. So waiting for its socket is safe while the wrapper holds nothing.
//
// Counting shows whether it holds something. The kernel counts the bytes that the socket has received, and
// known counts the bytes that the wrapper has returned. The difference is what the wrapper has taken for
// good, if a deadline has just ended a Read with no bytes and the socket is empty: the wrapper would have
// returned whatever it held. From then on the wrapper holds nothing whenever the socket is empty and the
// difference is the same.
type known struct {
	BaseLayer
	conn net.Conn // the wrapper
	rc   syscall.RawConn
	out  Layer // does the writes

	// Owned by the reader.
	returned uint64 // bytes that the wrapper returned
	taken    uint64 // bytes that it has taken for good, such as a header
	learned  bool   // taken is known
	err      error  // came with the last bytes
}

// knownTypes maps the path of a package to the name of its type whose pointers are such wrappers:
// implementations of the PROXY protocol, and a multiplexer for several protocols on one port.
var knownTypes = map[string]string{
	"github.com/pires/go-proxyproto": "Conn",
	"github.com/armon/go-proxyproto": "Conn",
	"github.com/soheilhy/cmux":       "MuxConn",
}

// isKnown reports whether conn is such a wrapper, or leaves its Read to one.
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
	return TriesReads | writeAbilitiesOver(k.out)
}

// RawConn implements Layer.
func (k *known) RawConn() syscall.RawConn { return k.rc }

// ReadOnReady implements Layer. It holds a buffer while it waits.
func (k *known) ReadOnReady(size int, pool mem.BufferPool) (*[]byte, int, error) {
	buf, n, err := readInto(size, pool, k.Read)
	if n > 0 {
		err = nil // Read keeps it
	}
	return buf, n, err
}

// TryRead implements Layer. If the wrapper may hold something, TryRead returns os.ErrDeadlineExceeded: the
// caller has to wait in a read then, and not for the socket.
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

// Read implements net.Conn. It returns n > 0 or an error.
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

// learn is called after a deadline has ended a Read with no bytes. It learns nothing if input has come
// since.
func (k *known) learn() {
	before, _ := k.received()
	empty := !HasInput(k.rc)
	if after, open := k.received(); open && empty && after == before {
		k.taken, k.learned = after-k.returned, true
	}
}

// isEven reports whether the wrapper holds nothing. Input that comes during this look counts as received,
// so that it is not missed.
func (k *known) isEven() bool {
	if !k.learned || HasInput(k.rc) {
		return false
	}
	n, open := k.received()
	return open && n == k.returned+k.taken
}

// received returns how many bytes the socket has received, whether they were read or not, and whether the
// socket is open in both directions. open is also false where the kernel does not count these bytes.
func (k *known) received() (n uint64, open bool) {
	_ = k.rc.Control(func(fd uintptr) { n, open = received(fd) }) // it fails on a connection that is closed
	return n, open
}

// received returns the same for a descriptor. It does not call unix.GetsockoptTCPInfo, which does not say
// how much of the struct the kernel has filled in: an old kernel does not count the bytes, and its 0 is no
// count.
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
