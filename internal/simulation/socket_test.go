// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"google.golang.org/grpc/internal/readyreader"
	"google.golang.org/grpc/mem"
)

// socket is one end of a connection of the virtual network. Bytes that the other end has written
// are in flight until a step has them arrive. All of it is touched by one goroutine at a time:
// the one that goes on, or the world's.
type socket struct {
	readyreader.BaseLayer
	w    *world
	link *link
	fd   int
	name string
	peer *socket

	input   input
	taken   int   // bytes of in that were read, for all time
	sent    int   // bytes that the peer has written, for all time
	fin     bool  // the peer's end is behind what is in flight
	ended   bool  // it has arrived
	broken  error // a fault: nothing is read or written any more
	closed  bool
	shut    bool // our direction was closed
	deaf    bool // writes fail, and reads do not
	below   bool // TLS is above: it stops, and is observed, there
	stalled bool // what is in flight does not arrive for now
	limit   int  // of in and flight together
	readBy  time.Time
	writeBy time.Time

	watch *observer // of what this end writes
}

// input is what the peer has written: what has arrived, and behind it what is on its way.
type input struct {
	bytes   []byte
	read    int // how many of them were read
	arrived int // how many have arrived, together with those
}

func (n *input) len() int    { return len(n.bytes) - n.read }
func (n *input) unread() int { return n.arrived - n.read }
func (n *input) flight() int { return len(n.bytes) - n.arrived }

func (n *input) add(p []byte) { n.bytes = append(n.bytes, p...) }

func (n *input) take(p []byte) int {
	k := copy(p, n.bytes[n.read:n.arrived])
	if n.read += k; n.read == len(n.bytes) {
		n.clear()
	}
	return k
}

// lose drops what is on its way.
func (n *input) lose() { n.bytes = n.bytes[:n.arrived] }

func (n *input) clear() { *n = input{bytes: n.bytes[:0]} }

func (s *socket) past(t time.Time) bool { return !t.IsZero() && !time.Now().Before(t) }

// readable reports whether a read would return at once.
func (s *socket) readable() bool {
	return s.closed || s.input.unread() > 0 || s.broken != nil || s.ended || s.past(s.readBy)
}

// hasEvent reports whether the kernel would tell of it.
func (s *socket) hasEvent() bool {
	return !s.closed && (s.input.unread() > 0 || s.broken != nil || s.ended)
}

// room is how many bytes the peer may write.
func (s *socket) room() int { return s.limit - s.input.len() }

func (s *socket) writable() bool {
	return s.closed || s.shut || s.deaf || s.broken != nil || s.peer.closed || s.peer.room() > 0 || s.past(s.writeBy)
}

// take reads to p what has arrived, or says why not.
func (s *socket) take(p []byte) (int, error) {
	switch {
	case s.closed:
		return 0, net.ErrClosed
	case s.past(s.readBy):
		return 0, os.ErrDeadlineExceeded
	case len(p) == 0:
		return 0, nil
	case s.input.unread() > 0:
		if n := len(p); n > 1 && s.w.swarm.has(shortReads) {
			p = p[:n-s.w.c.pick(n)]
		}
		n := s.input.take(p)
		s.taken += n
		s.peer.watch.read(n)
		return n, nil
	case s.broken != nil:
		return 0, s.broken
	case s.ended:
		return 0, io.EOF
	}
	return 0, readyreader.ErrWouldBlock
}

func (s *socket) takeBuffer(size int, pool mem.BufferPool) (*[]byte, int, error) {
	if s.input.unread() == 0 || s.closed {
		_, err := s.take(make([]byte, 1))
		return nil, 0, err
	}
	b := pool.Get(size)
	n, err := s.take(*b)
	if err != nil {
		pool.Put(b)
		return nil, 0, err
	}
	return b, n, nil
}

// Can implements readyreader.Layer.
func (s *socket) Can() readyreader.Ability {
	return readyreader.ReadsReady | readyreader.TriesReads | readyreader.TriesWrites
}

// TryRead implements readyreader.Layer.
func (s *socket) TryRead(size int, pool mem.BufferPool) (*[]byte, int, error) {
	s.stop(atTryRead)
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	b, n, err := s.takeBuffer(size, pool)
	s.w.note(s, "tries to read: %d, %v", n, err)
	s.w.reach(whoReads[s.w.role()])
	return b, n, err
}

// ReadOnReady implements readyreader.Layer.
func (s *socket) ReadOnReady(size int, pool mem.BufferPool) (*[]byte, int, error) {
	for {
		s.w.await(atRead, s, nil)
		s.w.mu.Lock()
		b, n, err := s.takeBuffer(size, pool)
		if err != readyreader.ErrWouldBlock {
			s.w.note(s, "reads: %d, %v", n, err)
			s.w.reach(whoReads[s.w.role()])
		}
		s.w.mu.Unlock()
		if err != readyreader.ErrWouldBlock {
			return b, n, err
		}
	}
}

// TryReadInto implements readyreader.Layer.
func (s *socket) TryReadInto(p []byte) (int, error) {
	s.stop(atTryRead)
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	n, err := s.take(p)
	s.w.note(s, "tries to read in place: %d, %v", n, err)
	return n, err
}

// Read implements net.Conn.
func (s *socket) Read(p []byte) (int, error) {
	for {
		s.w.await(atRead, s, nil)
		s.w.mu.Lock()
		n, err := s.take(p)
		if err != readyreader.ErrWouldBlock {
			s.w.note(s, "reads to where it is wanted: %d, %v", n, err)
			s.w.reach(readInPlace)
		}
		s.w.mu.Unlock()
		if err != readyreader.ErrWouldBlock {
			return n, err
		}
	}
}

// Drained implements readyreader.Layer: nothing is between this and the socket, or something that
// does not know.
func (s *socket) Drained() bool { return !s.w.swarm.has(layered) }

// stop yields before a call that does not wait.
func (s *socket) stop(at place) {
	if !s.below {
		s.w.yield(at, s)
	}
}

// conn is the socket as a connection gets it.
func (s *socket) conn() (net.Conn, error) {
	switch {
	case s.w.swarm.has(plainConns):
		return plain{s}, nil
	case s.w.swarm.has(secured):
		return s.secure()
	case s.w.swarm.has(seals):
		return s.sealed(), nil
	}
	return s, nil
}

// plain is a connection of a kind that nobody knows.
type plain struct{ s *socket }

func (p plain) Read(b []byte) (int, error)         { return p.s.Read(b) }
func (p plain) Write(b []byte) (int, error)        { return p.s.Write(b) }
func (p plain) Close() error                       { return p.s.Close() }
func (p plain) LocalAddr() net.Addr                { return p.s.LocalAddr() }
func (p plain) RemoteAddr() net.Addr               { return p.s.RemoteAddr() }
func (p plain) SetDeadline(t time.Time) error      { return p.s.SetDeadline(t) }
func (p plain) SetReadDeadline(t time.Time) error  { return p.s.SetReadDeadline(t) }
func (p plain) SetWriteDeadline(t time.Time) error { return p.s.SetWriteDeadline(t) }

// put writes what there is room for.
func (s *socket) put(p []byte) (int, error) {
	switch {
	case s.closed, s.shut:
		return 0, net.ErrClosed
	case s.broken != nil:
		return 0, s.broken
	case s.peer.closed, s.deaf:
		return 0, syscall.EPIPE
	case s.past(s.writeBy):
		return 0, os.ErrDeadlineExceeded
	}
	n := min(len(p), s.peer.room())
	if n > 1 && s.w.swarm.has(shortWrites) && s.w.c.rarely(3) {
		n -= s.w.c.pick(n)
	}
	s.peer.input.add(p[:n])
	s.peer.sent += n
	if !s.below {
		s.watch.wrote(p[:n])
	}
	if n < len(p) {
		return n, readyreader.ErrWouldBlock
	}
	return n, nil
}

// TryWrite implements readyreader.Layer.
func (s *socket) TryWrite(p []byte) (int, error) {
	s.stop(atTryWrite)
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	n, err := s.put(p)
	s.w.note(s, "tries to write %d: %d, %v", len(p), n, err)
	s.w.reach(whoWrites[s.w.role()])
	return n, err
}

// Write implements net.Conn.
func (s *socket) Write(p []byte) (written int, err error) {
	for {
		s.w.await(atWrite, s, nil)
		s.w.mu.Lock()
		n, err := s.put(p)
		s.w.note(s, "writes %d: %d, %v", len(p), n, err)
		s.w.reach(writeWaits)
		s.w.mu.Unlock()
		written += n
		if p = p[n:]; err != readyreader.ErrWouldBlock {
			return written, err
		}
	}
}

// Close implements net.Conn. With unread input the peer loses what is on its way, as with TCP.
func (s *socket) Close() error {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	if s.closed {
		return net.ErrClosed
	}
	s.closed = true
	s.w.note(s, "is closed")
	s.w.kernel.forget(s.fd)
	s.w.fds[s.fd] = fdFree
	if p := s.peer; s.input.len() > 0 && s.w.swarm.has(resetsOnClose) {
		s.w.reach(closedWithInput)
		if p.broken == nil {
			p.broken = syscall.ECONNRESET
		}
		p.input.lose() // what has arrived can still be read, as on Linux
	}
	s.input.clear()
	s.peer.fin = true
	return nil
}

// CloseWrite implements readyreader.HalfCloser.
func (s *socket) CloseWrite() error {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	if s.closed {
		return net.ErrClosed
	}
	s.shut, s.peer.fin = true, true
	s.w.note(s, "has its direction closed")
	return nil
}

func (s *socket) LocalAddr() net.Addr  { return address(s.name) }
func (s *socket) RemoteAddr() net.Addr { return address(s.peer.name) }

func (s *socket) SetDeadline(t time.Time) error {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	s.readBy, s.writeBy = t, t
	return s.lateErr()
}

func (s *socket) SetReadDeadline(t time.Time) error {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	s.readBy = t
	return s.lateErr()
}

func (s *socket) SetWriteDeadline(t time.Time) error {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	s.writeBy = t
	return s.lateErr()
}

func (s *socket) lateErr() error {
	if s.closed {
		return net.ErrClosed
	}
	return nil
}

// RawConn implements readyreader.Layer.
func (s *socket) RawConn() syscall.RawConn { return descriptor{s} }

type descriptor struct{ *socket }

func (d descriptor) Control(f func(uintptr)) error {
	d.w.mu.Lock()
	closed := d.closed
	d.w.mu.Unlock()
	if closed {
		return net.ErrClosed
	}
	f(uintptr(d.fd))
	return nil
}

func (descriptor) Read(func(uintptr) bool) error  { return syscall.ENOSYS }
func (descriptor) Write(func(uintptr) bool) error { return syscall.ENOSYS }

type address string

func (address) Network() string  { return "virtual" }
func (a address) String() string { return string(a) }
