// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"net"

	"google.golang.org/grpc/internal/readyreader"
	"google.golang.org/grpc/mem"
)

// recordsEnd is an end with a layer that seals: TLS or ALTS. Its goroutines stop above that, and below only
// where it waits. What the observer sees is not encrypted.
type recordsEnd struct {
	layer
	s *socket
}

// layer is a connection of TLS or ALTS.
type layer interface {
	net.Conn
	readyreader.Layer
}

// TryRead implements readyreader.Layer.
func (e *recordsEnd) TryRead(size int, pool mem.BufferPool) (*[]byte, int, error) {
	e.s.w.yield(atTryRead, e.s)
	return e.layer.TryRead(size, pool)
}

// TryReadInto implements readyreader.Layer.
func (e *recordsEnd) TryReadInto(p []byte) (int, error) {
	e.s.w.yield(atTryRead, e.s)
	return e.layer.TryReadInto(p)
}

// TryWrite implements readyreader.Layer.
func (e *recordsEnd) TryWrite(p []byte) (int, error) {
	e.s.w.yield(atTryWrite, e.s)
	n, err := e.layer.TryWrite(p)
	e.s.observe([][]byte{p}, n)
	return n, err
}

// TryWriteVector implements readyreader.Layer.
func (e *recordsEnd) TryWriteVector(pieces [][]byte) (int, error) {
	e.s.w.yield(atTryWrite, e.s)
	all := append([][]byte(nil), pieces...)
	n, err := e.layer.TryWriteVector(pieces)
	e.s.observe(all, n)
	return n, err
}

// Write implements net.Conn.
func (e *recordsEnd) Write(p []byte) (int, error) {
	e.s.observe([][]byte{p}, len(p)) // the peer may read the first of it before all is written
	return e.layer.Write(p)
}

// WriteVector implements readyreader.Layer.
func (e *recordsEnd) WriteVector(pieces [][]byte) (int, error) {
	e.s.observe(pieces, lengthOf(pieces))
	return e.layer.WriteVector(pieces)
}

// observe shows the first n bytes of the pieces, which are not encrypted.
func (s *socket) observe(pieces [][]byte, n int) {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	for _, p := range pieces {
		k := min(n, len(p))
		s.watch.wrote(p[:k])
		n -= k
	}
}

func lengthOf(pieces [][]byte) (n int) {
	for _, p := range pieces {
		n += len(p)
	}
	return n
}
