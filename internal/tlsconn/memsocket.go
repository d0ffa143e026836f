// SPDX-License-Identifier: Apache-2.0

package tlsconn

import (
	"io"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc/internal/readyreader"
	"google.golang.org/grpc/mem"
)

// memSocket is one end of a connection in memory, for a trial of this package's
// code that needs nothing of the system. Deadlines have no effect.
type memSocket struct {
	readyreader.BaseLayer
	in, out *memStream
	most    int // bytes that one read or write moves at most; 0: any number
}

// memStream is one direction.
type memStream struct {
	mu      sync.Mutex
	changed sync.Cond
	b       []byte
	memory  []byte // where b lies, unless it grows larger; nil: anywhere
	room    int    // bytes it takes before a write would block; 0: any number
	closed  bool
}

func newMemSockets() (a, b *memSocket) {
	x, y := new(memStream), new(memStream)
	x.changed.L, y.changed.L = &x.mu, &y.mu
	return &memSocket{in: x, out: y}, &memSocket{in: y, out: x}
}

func (s *memSocket) bound(p []byte) []byte {
	if s.most > 0 {
		return p[:min(len(p), s.most)]
	}
	return p
}

func (s *memSocket) read(p []byte, wait bool) (int, error) {
	in := s.in
	in.mu.Lock()
	defer in.mu.Unlock()
	for len(in.b) == 0 {
		switch {
		case in.closed:
			return 0, io.EOF
		case !wait:
			return 0, readyreader.ErrWouldBlock
		}
		in.changed.Wait()
	}
	n := copy(s.bound(p), in.b)
	in.b = in.b[n:]
	in.changed.Broadcast()
	return n, nil
}

func (s *memSocket) write(p []byte, wait bool) (n int, err error) {
	out := s.out
	out.mu.Lock()
	defer out.mu.Unlock()
	for n < len(p) {
		room := len(p)
		if out.room > 0 {
			room = out.room - len(out.b)
		}
		switch {
		case out.closed:
			return n, io.ErrClosedPipe
		case room <= 0 && !wait:
			return n, readyreader.ErrWouldBlock
		case room <= 0:
			out.changed.Wait()
			continue
		}
		q := s.bound(p[n:min(len(p), n+room)])
		if len(out.b) == 0 && out.memory != nil {
			out.b = out.memory[:0]
		}
		out.b = append(out.b, q...)
		n += len(q)
		out.changed.Broadcast()
	}
	return n, nil
}

func (s *memSocket) lend(size int, pool mem.BufferPool, wait bool) (*[]byte, int, error) {
	buf := pool.Get(size)
	n, err := s.read((*buf)[:min(len(*buf), size)], wait)
	if err != nil {
		pool.Put(buf)
		return nil, 0, err
	}
	return buf, n, nil
}

func (s *memSocket) Can() readyreader.Ability {
	return readyreader.ReadsReady | readyreader.TriesReads | readyreader.TriesWrites
}

func (s *memSocket) ReadOnReady(size int, pool mem.BufferPool) (*[]byte, int, error) {
	return s.lend(size, pool, true)
}

func (s *memSocket) TryRead(size int, pool mem.BufferPool) (*[]byte, int, error) {
	return s.lend(size, pool, false)
}

func (s *memSocket) TryReadInto(p []byte) (int, error) { return s.read(p, false) }

func (s *memSocket) TryWrite(p []byte) (int, error) { return s.write(p, false) }

func (s *memSocket) Read(p []byte) (int, error) { return s.read(p, true) }

func (s *memSocket) Write(p []byte) (int, error) { return s.write(p, true) }

func (s *memSocket) Close() error {
	for _, d := range []*memStream{s.in, s.out} {
		d.mu.Lock()
		d.closed = true
		d.changed.Broadcast()
		d.mu.Unlock()
	}
	return nil
}

func (s *memSocket) LocalAddr() net.Addr { return &net.UnixAddr{Net: "unix"} }

func (s *memSocket) RemoteAddr() net.Addr { return &net.UnixAddr{Net: "unix"} }

func (s *memSocket) SetDeadline(time.Time) error { return nil }

func (s *memSocket) SetReadDeadline(time.Time) error { return nil }

func (s *memSocket) SetWriteDeadline(time.Time) error { return nil }
