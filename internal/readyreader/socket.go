// SPDX-License-Identifier: Apache-2.0

package readyreader

import (
	"net"
	"reflect"
)

// Socket is a connection with the Layer through which it is read and written. NewSocket finds out once what
// a connection can do; all other code takes a Socket, or its Layer, and asks Can.
type Socket struct {
	Conn net.Conn // for deadlines, addresses and Close
	Layer
}

// NewSocket finds out how conn is read and written. It is the one place that decides that:
//
//   - a connection that is a Layer, or a wrapper that embeds a Layer, or names one, and leaves Read and
//     Write to it: through that Layer;
//   - exactly a *net.TCPConn or *net.UnixConn, or a wrapper that embeds or names one, and at most counts
//     its bytes: on the descriptor, if the system allows that;
//   - a wrapper around a socket with a Read of its own: through that Read, see known and wrapped;
//   - any other connection: through its Read and Write, which wait.
//
// The two directions may differ. A wrapper with a Read of its own must have one Socket only, as that may
// hold input that it has read.
func NewSocket(conn net.Conn) Socket { return Socket{conn, layerOf(conn)} }

func layerOf(conn net.Conn) Layer {
	in, out := descend(conn, inward), descend(conn, outward)
	reads, writes := in.layer, out.layer
	switch {
	case isSocket(in) && isSocket(out) && isSame(in.end, out.end):
		if raw := newRaw(in.end); raw != nil {
			return counted(raw, in.counts, out.counts)
		}
		return &plainConn{Conn: conn}
	case reads != nil && (isSame(in.end, out.end) || writes == nil && !isSocket(out) && isSame(in.end, conn)):
		// Where writes is nil, Write is the wrapper's own. If reads can write too, its writes would bypass
		// that.
		if writes != nil || !reads.Can().HasAny(writeAbilities) {
			return reads
		}
	case reads == nil && writes != nil && isSame(in.end, out.end):
		if !writes.Can().HasAny(readAbilities) {
			return writes
		}
	}
	if reads == nil && isSocket(in) {
		if raw := newRaw(in.end); raw != nil {
			reads = counted(raw, in.counts, nil)
		} else {
			reads = &plainConn{Conn: conn}
		}
	}
	if writes == nil && isSocket(out) {
		if raw := newRaw(out.end); raw != nil {
			writes = counted(raw, nil, out.counts)
		}
	}
	return joined(conn, reads, writes)
}

// joined returns the Layer of a conn that reads through one Layer and writes through another. A nil one
// stands for conn's own Read or Write.
func joined(conn net.Conn, reads, writes Layer) Layer {
	if writes == nil {
		writes = &plainConn{Conn: conn}
	}
	if reads != nil {
		return &splitConn{reads, writes}
	}
	if k := newKnown(conn, writes); k != nil {
		return k
	}
	if w := newWrapped(conn, writes); w != nil {
		return w
	}
	if !writes.Can().Has(TriesWrites) {
		return &plainConn{Conn: conn}
	}
	return &splitConn{&plainConn{Conn: conn}, writes}
}

func isSocket(p path) bool { return p.end != nil && p.layer == nil && isExactSocket(p.end) }

// isSame compares connections that programs make. Two whose types can't be compared are never the same.
func isSame(a, b net.Conn) bool {
	return a != nil && b != nil && reflect.ValueOf(a).Comparable() && reflect.ValueOf(b).Comparable() && a == b
}

// isExactSocket reports whether conn is exactly a TCP or unix socket, and no layer above one: its Read returns
// what the descriptor carries, and bytes that its Write took are with the system.
//
// It compares the exact type on purpose. A wrapper that embeds a socket (credentials, metering, proxy
// protocol) has the socket's SyscallConn promoted to its own method set, yet its Read may decrypt or skip a
// prefix: reading the descriptor would hand out ciphertext as if it were plaintext. See embed.go for
// wrappers that do nothing of the kind.
func isExactSocket(conn net.Conn) bool {
	switch c := conn.(type) {
	case *net.TCPConn:
		return c != nil
	case *net.UnixConn:
		// Only the stream kind: a zero-length datagram is not the end.
		return c != nil && c.LocalAddr() != nil && c.LocalAddr().Network() == "unix"
	}
	return false
}

// ReadsSocket reports whether nothing happens between conn's reads and a socket: conn is a socket, or a wrapper
// that leaves reading to one, or only counts what it reads. Its Write may do anything.
func ReadsSocket(conn net.Conn) bool { return isSocket(descend(conn, inward)) }

// DeadlinesEndReads reports whether a deadline that is set on conn reaches the socket that conn's reads wait for, and
// stays there: no wrapper, also below TLS, has a SetReadDeadline of its own, or a Read, which may set deadlines. It is
// false if that can't be told. A connection that is a Layer is believed to obey deadlines.
func DeadlinesEndReads(conn net.Conn) bool {
	reads := descend(conn, inward)
	if reads.end == nil || !isSame(descend(conn, bounding).end, descend(reads.end, bounding).end) {
		return false
	}
	if isSocket(reads) {
		return true
	}
	if over, ok := reads.layer.(interface{ NetConn() net.Conn }); ok {
		return DeadlinesEndReads(over.NetConn())
	}
	return reads.layer != nil // it says itself how it is read
}
