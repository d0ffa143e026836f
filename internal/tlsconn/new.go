// SPDX-License-Identifier: Apache-2.0

package tlsconn

import (
	"crypto/tls"
	"net"

	"google.golang.org/grpc/internal/readyreader"
)

// Options says how New makes a connection.
type Options struct {
	// Server says that this is the accepting side.
	Server bool
	// Release asks to take crypto/tls's buffers away while they are empty, if that is possible
	// here.
	Release bool
	// Rest asks, together with Release, to take away what the ciphers of crypto/tls make of their keys
	// while the connection is left alone, if that is possible here.
	Rest bool
}

// New puts TLS over raw and reports whether it can. raw has to be a TCP or unix socket, or a wrapper around
// one (whose Close, deadlines and addresses are used), on a system where sockets can be read without
// waiting. config must not allow renegotiation, which reads in the middle of a read and has to wait. If New
// returns false, raw is untouched, and is good for a tls.Conn.
//
// config is not changed. The handshake is still to be done.
func New(raw net.Conn, config *tls.Config, opts Options) (*Conn, bool) {
	if !opts.Server && config.Renegotiation != tls.RenegotiateNever {
		return nil, false
	}
	s := readyreader.NewSocket(raw)
	if !s.Can().Has(readyreader.OnSocket | readyreader.TriesReads) {
		return nil, false
	}
	return newOver(s, config, opts), true
}

// Over is New for a connection that is no socket, but can be read and written without waiting by methods of
// its own.
func Over(raw net.Conn, config *tls.Config, opts Options) (*Conn, bool) {
	s := readyreader.NewSocket(raw)
	if !s.Can().Has(readyreader.TriesReads | readyreader.TriesWrites) {
		return nil, false
	}
	return newOver(s, config, opts), true
}

func newOver(s readyreader.Socket, config *tls.Config, opts Options) *Conn {
	c := &Conn{raw: s.Conn, sock: s.Layer, release: opts.Release && releasable()}
	c.rests = c.release && opts.Rest && restable()
	c.start(config, opts.Server)
	return c
}
