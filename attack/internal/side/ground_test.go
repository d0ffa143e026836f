// SPDX-License-Identifier: Apache-2.0

//go:build !published

package side

import (
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"

	"google.golang.org/grpc"
	"google.golang.org/grpc/internal"
	"google.golang.org/grpc/internal/park"
	"google.golang.org/grpc/internal/pulse"
	"google.golang.org/grpc/internal/readyreader"
	"google.golang.org/grpc/internal/warm"
	"google.golang.org/grpc/mem"
)

// ground is what this module's connections stand on: descriptors, and a kernel that watches them. Some events
// come twice, some late, when the descriptor that they were of may be that of another socket, and some in vain.
type ground struct {
	*park.Ground
	events chan uint64

	mu    sync.Mutex
	rng   *rand.Rand
	side  *side
	fds   []*socket    // by number; nil: free
	known map[int]bool // descriptors that the kernel was told of
	armed map[int]uint64
	old   []uint64 // tokens that were told
}

func newGround(s *side) *ground {
	if s.has(PlainConns) {
		return nil
	}
	g := &ground{events: make(chan uint64, 1024), side: s, rng: rand.New(rand.NewPCG(s.seed, 1)), armed: map[int]uint64{}, known: map[int]bool{}}
	g.Ground = park.NewGround(g)
	pulse.Forbid() // its goroutine would be the process's, and begin in a bubble
	return g
}

func (g *ground) dialOption() grpc.DialOption {
	if g == nil {
		return grpc.EmptyDialOption{}
	}
	return internal.WithGround.(func(*park.Ground) grpc.DialOption)(g.Ground)
}

func (g *ground) serverOption() grpc.ServerOption {
	if g == nil {
		return grpc.EmptyServerOption{}
	}
	return internal.Ground.(func(*park.Ground) grpc.ServerOption)(g.Ground)
}

// conn is c as a socket with the lowest number that is free.
func (g *ground) conn(c *conn) net.Conn {
	if g == nil {
		return c
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	s := &socket{conn: c, g: g, fd: slices.Index(g.fds, nil)}
	if s.fd < 0 {
		s.fd = len(g.fds)
		g.fds = append(g.fds, nil)
	}
	g.fds[s.fd] = s
	c.onChange = s.changes
	return s
}

// Arm implements park.Kernel.
func (g *ground) Arm(fd int, token uint64, first bool) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if first && g.rng.IntN(30) == 0 {
		return errors.New("no more watches")
	}
	if first == g.known[fd] {
		g.side.fault("first arming of descriptor %d and later ones are mixed up", fd)
	}
	g.known[fd], g.armed[fd] = true, token
	if g.fds[fd].readable {
		g.tell(fd)
	}
	return nil
}

// Calm implements park.Kernel.
func (g *ground) Calm(fd int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.armed, fd)
}

// Disarm implements park.Kernel.
func (g *ground) Disarm(fd int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.forget(fd)
}

func (g *ground) forget(fd int) {
	delete(g.armed, fd)
	delete(g.known, fd)
}

// Wait implements park.Kernel.
func (g *ground) Wait(closed <-chan struct{}, tokens []uint64) (int, error) {
	select {
	case <-closed: // what comes now is for the next one who waits
		return 0, net.ErrClosed
	default:
	}
	select {
	case tokens[0] = <-g.events:
		return 1, nil
	case <-closed:
		return 0, net.ErrClosed
	}
}

// Go implements park.Kernel.
func (g *ground) Go(t warm.Task) { go t.Run() }

// tell tells of a descriptor that is watched. The caller holds mu.
func (g *ground) tell(fd int) {
	token, ok := g.armed[fd]
	if !ok {
		return
	}
	delete(g.armed, fd)
	g.put(token)
	if g.rng.IntN(8) == 0 {
		g.put(token)
	}
	if n := len(g.old); n > 0 && g.rng.IntN(8) == 0 {
		g.put(g.old[g.rng.IntN(n)])
	}
	g.old = append(g.old, token)
}

func (g *ground) put(token uint64) {
	select {
	case g.events <- token:
	default: // so many of them are of no use to anybody
	}
}

// socket is a conn with a descriptor.
type socket struct {
	readyreader.BaseLayer
	*conn
	g        *ground
	fd       int
	readable bool // guarded by the ground's mu
	freed    bool
}

// changes is told of each change of the connection, with its lock held.
func (s *socket) changes() {
	g := s.g
	g.mu.Lock()
	defer g.mu.Unlock()
	if s.closed && !s.freed {
		s.freed = true
		g.forget(s.fd)
		g.fds[s.fd] = nil
	}
	s.readable = len(s.in) > 0 || s.eof || s.broken
	if s.freed {
		return
	}
	if s.readable || g.rng.IntN(20) == 0 {
		g.tell(s.fd)
	}
}

// Read implements readyreader.Layer, and so do all below.
func (s *socket) Read(p []byte) (int, error) { return s.conn.Read(p) }

func (s *socket) Write(p []byte) (int, error) { return s.conn.Write(p) }

func (s *socket) Can() readyreader.Ability {
	return readyreader.ReadsReady | readyreader.TriesReads | readyreader.TriesWrites
}

func (s *socket) ReadOnReady(size int, pool mem.BufferPool) (*[]byte, int, error) {
	b := pool.Get(size)
	n, err := s.conn.Read(*b)
	if err != nil {
		pool.Put(b)
		return nil, 0, err
	}
	return b, n, nil
}

func (s *socket) TryRead(size int, pool mem.BufferPool) (*[]byte, int, error) {
	b := pool.Get(size)
	n, err := s.TryReadInto(*b)
	if err != nil {
		pool.Put(b)
		return nil, 0, err
	}
	return b, n, nil
}

func (s *socket) TryReadInto(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := s.take(p)
	if err == nil && n == 0 && len(p) > 0 {
		err = readyreader.ErrWouldBlock
	}
	s.changes()
	return n, err
}

func (s *socket) Drained() bool { return true }

func (s *socket) TryWrite(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := s.put(p)
	if err == nil && n < len(p) {
		err = readyreader.ErrWouldBlock
	}
	return n, err
}

func (s *socket) RawConn() syscall.RawConn { return descriptor{s} }

type descriptor struct{ *socket }

func (d descriptor) Control(f func(uintptr)) error {
	d.conn.mu.Lock()
	defer d.conn.mu.Unlock()
	if d.closed {
		return os.ErrClosed
	}
	f(uintptr(d.fd))
	return nil
}

func (descriptor) Read(func(uintptr) bool) error  { return syscall.ENOSYS }
func (descriptor) Write(func(uintptr) bool) error { return syscall.ENOSYS }

var _ io.ReadWriteCloser = (*socket)(nil)
