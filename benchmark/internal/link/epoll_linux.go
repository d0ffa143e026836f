// SPDX-License-Identifier: Apache-2.0

package link

import (
	"net"
	"os"
	"syscall"

	"google.golang.org/grpc/benchmark/internal/service"
)

// epollSet serves raw connections with one goroutine that waits in epoll_wait for all of them; the
// Go runtime's poller knows none of them. It is the least that a server can do. It skips each
// connection's header without parsing it and echoes whatever follows. It needs no framing, because a
// caller sends its next message only after the answer to the last.
type epollSet struct {
	fd    int
	bench *service.Bench
	buf   [64 << 10]byte
	conns chan *os.File // new ones

	// the goroutine's own, by descriptor
	files  map[int32]*os.File
	headed map[int32]bool
}

// serveEpoll answers what lis accept, until the process ends.
func serveEpoll(lis []net.Listener, b *service.Bench) error {
	fd, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return os.NewSyscallError("epoll_create1", err)
	}
	s := &epollSet{
		fd: fd, bench: b, conns: make(chan *os.File, 1<<10),
		files: make(map[int32]*os.File), headed: make(map[int32]bool),
	}
	go s.run()
	serveBytes(lis, nil, s.add)
	return nil
}

// add moves a connection from the runtime's poller to the set.
func (s *epollSet) add(c net.Conn) {
	defer c.Close() // a duplicate stays
	f, err := c.(interface{ File() (*os.File, error) }).File()
	if err != nil {
		return
	}
	fd := int(f.Fd())
	s.conns <- f // before it can have an event
	_ = syscall.SetNonblock(fd, true)
	_ = syscall.EpollCtl(s.fd, syscall.EPOLL_CTL_ADD, fd, &syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(fd)})
}

func (s *epollSet) run() {
	var events [64]syscall.EpollEvent
	for {
		n, err := syscall.EpollWait(s.fd, events[:], -1)
		if err != nil && err != syscall.EINTR {
			return
		}
		for len(s.conns) > 0 {
			f := <-s.conns
			s.files[int32(f.Fd())] = f
		}
		for i := range max(n, 0) {
			if fd := events[i].Fd; !s.answer(fd) {
				s.files[fd].Close()
				delete(s.files, fd)
				delete(s.headed, fd)
			}
		}
	}
}

// answer answers what has come on a connection, and reports whether there may be more.
func (s *epollSet) answer(fd int32) bool {
	n, err := syscall.Read(int(fd), s.buf[:])
	if n <= 0 {
		return err == syscall.EAGAIN || err == syscall.EINTR
	}
	in := s.buf[:n]
	if !s.headed[fd] {
		if len(in) < headerSize {
			return false
		}
		s.headed[fd], in = true, in[headerSize:]
	}
	if len(in) == 0 {
		return true
	}
	_, err = syscall.Write(int(fd), in)
	s.bench.CountOne()
	return err == nil
}
