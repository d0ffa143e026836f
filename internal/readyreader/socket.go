// SPDX-License-Identifier: Apache-2.0

package readyreader

import (
	"net"
	"reflect"
)

// Socket is a connection with the Layer that it is read and written through. What a connection can do is
// found out once, by NewSocket; everything else takes a Socket, or its Layer, and asks Can.
type Socket struct {
	Conn net.Conn // for deadlines, addresses and Close
	Layer
}

// NewSocket finds out how conn is read and written. It is the one place that decides that:
//
//   - a connection that is a Layer, or a wrapper that embeds one, or says that it does, and leaves Read and Write
//     to it: through that;
//   - exactly a *net.TCPConn or *net.UnixConn, or a wrapper that embeds one, or says so, and maybe counts: on
//     the descriptor, where the system allows it;
//   - a wrapper around a socket with a Read of its own: in that, see known and wrapped;
//   - everything else: by its Read and Write, which wait.
//
// The two directions may differ. There must be no second Socket of a wrapper whose Read is its own, as
// the first one may hold what it has read.
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
		// Where writes is nil, Write is the wrapper's own, and what else reads writes with would leave it out.
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

// joined is the Layer of a conn whose directions have different ones, or nil if they have none.
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

func isSocket(p path) bool { return p.end != nil && p.layer == nil && IsSocket(p.end) }

// isSame compares connections that programs make. Those that can't be compared are never the
// same.
func isSame(a, b net.Conn) bool {
	return a != nil && b != nil && reflect.ValueOf(a).Comparable() && reflect.ValueOf(b).Comparable() && a == b
}

// IsSocket reports whether conn is no layer but exactly a TCP or unix socket: what its
// descriptor carries is what its Read returns, and what it took is with the system.
//
// It goes by exact type on purpose. A wrapper that embeds a socket (credentials,
// metering, proxy protocol) has the socket's SyscallConn promoted to its own method set,
// yet its Read may decrypt or skip a prefix: reading the descriptor would hand out
// ciphertext as if it were plaintext. See embed.go for those that do nothing of the kind.
func IsSocket(conn net.Conn) bool {
	switch c := conn.(type) {
	case *net.TCPConn:
		return c != nil
	case *net.UnixConn:
		// Only the stream kind: a zero-length datagram is not the end.
		return c != nil && c.LocalAddr() != nil && c.LocalAddr().Network() == "unix"
	}
	return false
}

// OverSocket reports whether nothing happens between conn and a socket: it is one, or a
// wrapper that leaves reading and writing to one that it embeds.
func OverSocket(conn net.Conn) bool {
	return isSocket(descend(conn, inward)) && isSocket(descend(conn, outward))
}
