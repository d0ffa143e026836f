// SPDX-License-Identifier: Apache-2.0

package readyreader

import (
	"io"
	"net"
	"reflect"
	"syscall"

	"google.golang.org/grpc/mem"
)

// Options says how New should buffer a connection.
type Options struct {
	// Pool lends the read buffers. It is used only with Pooled, and must then
	// not be nil.
	Pool mem.BufferPool
	// Size is the size of a read buffer in bytes, and the most that one Peek
	// can ask for. Values below 128 count as 128.
	Size int
	// First is the size of the first read, if it is not 0 and the buffer is pooled: for input of
	// which there is little, as a rule, at first.
	First int
	// Pooled asks for a buffer that is held only while it has bytes in it.
	// Without it the connection keeps one buffer of its own for life.
	Pooled bool
	// Writer is what NewWriter returned for the connection, if it did: what it
	// found out about the descriptor then serves for reading, too.
	Writer Writer
	// Reuse is what Recycle returned: New uses its memory again, if it can. It may be nil.
	Reuse Buffered
}

// minSize leaves room for a frame header beside the tail that small can hold.
const minSize = 128

// New returns the buffered read side of conn. It is the one place that decides
// how a connection is read:
//
//   - pooled, and the connection implements Reader: through that;
//   - pooled, and it is exactly a *net.TCPConn or *net.UnixConn: on the
//     descriptor, where the system allows it;
//   - pooled, and it embeds one of these and leaves Read to it, or says that it does, and maybe
//     counts: likewise;
//   - pooled, and the Writer is one that reads, too: through that; see wrapped;
//   - everything else: a fixed buffer over conn.Read.
//
// The result is a [Pollable] if the connection can also be read without
// waiting. The caller goes on to set deadlines on conn and to close it, and
// calls Release once it has stopped reading.
func New(conn net.Conn, opts Options) Buffered {
	size := max(opts.Size, minSize)
	if opts.Pooled {
		if r := readerFor(conn, opts.Writer); r != nil {
			direct, ok := r.(io.Reader)
			if !ok {
				direct = conn
			}
			return newPooled(direct, r, opts.Pool, sizes{size, min(opts.First, size)}, opts.Reuse)
		}
	}
	return newFixed(conn, size)
}

// Socket returns the socket below what New returns, nil if none is known, and whether it is what to wait
// on for input.
func Socket(conn net.Conn, opts Options) (rc syscall.RawConn, waits bool) {
	if !opts.Pooled {
		return nil, false
	}
	r, ok := readerFor(conn, opts.Writer).(TryReader)
	if !ok {
		return nil, false
	}
	return r.RawConn(), !Rests(r)
}

// HoldsNone reports whether what New returns holds a buffer only while bytes are in it.
func HoldsNone(conn net.Conn, opts Options) bool {
	return opts.Pooled && readerFor(conn, opts.Writer) != nil
}

// NewWriter returns the non-blocking write side of conn and whether there is one: what
// conn's Write is that of, if that implements Writer; or an attempt on its descriptor, if
// it is a socket. If it is a Reader, too, that is the one to use, and New does so when it
// is given the Writer. For a wrapper whose Read or Write is its own the two are one for
// good: there must not be a second.
func NewWriter(conn net.Conn) (Writer, bool) {
	out := descend(conn, outward)
	var w Writer
	switch {
	case out.better:
		w = out.end.(Writer)
	case out.end != nil && IsSocket(out.end):
		if raw, ok := newRawWriter(out.end); ok {
			w = raw
		}
	}
	if w != nil && isSame(out.end, conn) {
		return w, true
	}
	in := descend(conn, inward)
	if in.end != nil && (in.better || IsSocket(in.end)) {
		return joined(w, in, out)
	}
	if w != nil {
		w = counted(w, nil, out.counts)
	}
	if r := newKnown(conn, w); r != nil {
		return r, true
	}
	if r := newWrapped(conn, w); r != nil {
		return r, true
	}
	if w != nil {
		return onlyWriter{w}, true
	}
	return nil, false
}

// isSame compares connections that programs make. Those that can't be compared are never the
// same.
func isSame(a, b net.Conn) bool { return reflect.ValueOf(a).Comparable() && a == b }

// joined is the Writer, w or one that counts, of what is read as in is, if it is one.
func joined(w Writer, in, out path) (Writer, bool) {
	if w == nil {
		return nil, false
	}
	if _, reads := w.(Reader); reads && !isSame(in.end, out.end) {
		return onlyWriter{counted(w, nil, out.counts)}, true
	}
	return counted(w, in.counts, out.counts), true
}

// onlyWriter hides that it can also read: for a wrapper whose reads are its own.
type onlyWriter struct{ Writer }

// NewReader returns conn's Reader and whether it has one, by the same rules as
// New, for layers (a TLS or ALTS connection) that do their own buffering.
func NewReader(conn net.Conn) (Reader, bool) {
	r := readerFor(conn, nil)
	return r, r != nil
}

// IsRaw reports whether what NewWriter returned reads and writes a socket, or a wrapper
// around one: nothing that it took is left with it.
func IsRaw(w Writer) bool {
	switch w := w.(type) {
	case *wrapped, *known:
		return true
	default:
		return isRawSocket(w)
	}
}

// IsDrained reports whether all that the other side has sent and was not returned yet is in the
// socket, where who waits for that finds it: there is no layer between, or one that knows.
func IsDrained(conn any) bool {
	if w, ok := conn.(Writer); ok && isRawSocket(w) {
		return true
	}
	d, ok := conn.(Drainer)
	return ok && d.Drained()
}

// OverSocket reports whether nothing happens between conn and a socket: it is one, or a
// wrapper that leaves reading and writing to one that it embeds.
func OverSocket(conn net.Conn) bool {
	for _, direction := range []func(shape) way{inward, outward} {
		if p := descend(conn, direction); p.better || p.end == nil || !IsSocket(p.end) {
			return false
		}
	}
	return true
}

func readerFor(conn net.Conn, w Writer) Reader {
	if r, ok := w.(Reader); ok {
		return r
	}
	in := descend(conn, inward)
	switch {
	case in.better:
		return in.end.(Reader)
	case in.end == nil || !IsSocket(in.end):
		return nil
	}
	r := newRawReader(in.end)
	if len(in.counts) > 0 && r != nil {
		return counted(r.(Writer), in.counts, nil).(Reader)
	}
	return r
}
