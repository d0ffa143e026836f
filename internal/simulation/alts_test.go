// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"bytes"

	"google.golang.org/grpc/internal/altsconn"
	"google.golang.org/grpc/mem"
)

// altsEnd is an end with the records of ALTS, as secureEnd is one with TLS: it stops above package altsconn,
// and below only where that waits. Of what a full socket does not take the rest stays in there, sealed.
type altsEnd struct {
	*altsconn.Socket
	s *socket
}

// altsKey is what a handshake would have agreed on.
var altsKey = bytes.Repeat([]byte{7}, altsconn.KeySize(altsconn.AES128GCMRekey))

// sealed is a socket below the records of ALTS. There is no handshake: that is a service's.
func (s *socket) sealed() *altsEnd {
	s.below = true
	cfg := altsconn.Config{Side: altsconn.Client, Protocol: altsconn.AES128GCMRekey, Key: altsKey, Pool: s.w.pool}
	if s.name[0] == 's' {
		cfg.Side = altsconn.Server
	}
	c, ok, err := altsconn.Over(s, cfg)
	if err != nil || !ok {
		panic("a socket of the simulation is none for ALTS")
	}
	s.w.reach(recordsSealed)
	return &altsEnd{Socket: c, s: s}
}

// TryRead implements readyreader.Layer.
func (e *altsEnd) TryRead(size int, pool mem.BufferPool) (*[]byte, int, error) {
	e.s.w.yield(atTryRead, e.s)
	return e.Socket.TryRead(size, pool)
}

// TryReadInto implements readyreader.Layer.
func (e *altsEnd) TryReadInto(p []byte) (int, error) {
	e.s.w.yield(atTryRead, e.s)
	return e.Socket.TryReadInto(p)
}

// TryWrite implements readyreader.Layer.
func (e *altsEnd) TryWrite(p []byte) (int, error) { return e.TryWriteVector([][]byte{p}) }

// TryWriteVector implements readyreader.Layer.
func (e *altsEnd) TryWriteVector(pieces [][]byte) (int, error) {
	e.s.w.yield(atTryWrite, e.s)
	all := append([][]byte(nil), pieces...)
	n, err := e.Socket.TryWriteVector(pieces)
	e.s.observe(all, n)
	return n, err
}

// Write implements net.Conn.
func (e *altsEnd) Write(p []byte) (int, error) {
	e.s.observe([][]byte{p}, len(p)) // the peer may read the first of it before all is written
	return e.Socket.Write(p)
}

// WriteVector implements readyreader.Layer.
func (e *altsEnd) WriteVector(pieces [][]byte) (int, error) {
	e.s.observe(pieces, lengthOf(pieces))
	return e.Socket.WriteVector(pieces)
}
