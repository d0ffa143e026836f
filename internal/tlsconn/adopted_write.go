// SPDX-License-Identifier: Apache-2.0

//go:build !grpcnotlsrelease

package tlsconn

import (
	"net"

	"google.golang.org/grpc/internal/readyreader"
	"google.golang.org/grpc/mem"
)

// TryWrite implements readyreader.Writer. As with a Conn records may be left inside, for the write
// that follows.
func (a *adopted) TryWrite(p []byte) (int, error) {
	if a.state.Load() != gathering || !a.send.TryLock() {
		return 0, readyreader.ErrWouldBlock
	}
	defer a.send.Unlock()
	return a.seal(p)
}

// Write implements net.Conn.
func (a *adopted) Write(p []byte) (n int, err error) {
	if err := a.shake(); err != nil {
		return 0, err
	}
	a.send.Lock()
	defer a.send.Unlock()
	if a.state.Load() != gathering {
		return a.tls.Write(p)
	}
	return a.sealAll(p)
}

// CloseWrite is that of tls.Conn, after what was written.
func (a *adopted) CloseWrite() error {
	a.send.Lock()
	defer a.send.Unlock()
	if a.state.Load() == gathering {
		_, _ = a.sealAll(nil) // crypto/tls tells of what is wrong
	}
	return a.tls.CloseWrite()
}

// sealAll is seal, and waits for room. send is held.
func (a *adopted) sealAll(p []byte) (n int, err error) {
	for {
		k, err := a.seal(p[n:])
		n += k
		if err != readyreader.ErrWouldBlock {
			return n, err
		}
		if err := a.flush(); err != nil {
			return n, err
		}
	}
}

// seal encrypts p and hands the records to the system, as long as that takes them. It does not
// wait: for crypto/tls neither, which may hold its lock until it has answered the peer. With
// ErrWouldBlock some records may be left. send is held.
func (a *adopted) seal(p []byte) (n int, err error) {
	s := sendingOf(a.tls)
	for {
		if !s.lock.TryLock() {
			return n, readyreader.ErrWouldBlock
		}
		chunk := p[n:min(len(p), n+chunkSize)]
		err := a.push(s)
		if err == nil && len(chunk) > 0 {
			a.gather(s, len(chunk)+(len(chunk)/maxPlain+1)*recordCost)
		}
		s.lock.Unlock()
		if a.closed.Load() {
			a.dropOutput()
		}
		if err != nil || len(chunk) == 0 {
			return n, err
		}
		k, err := a.tls.Write(chunk)
		n += k
		if err != nil {
			s.lock.Lock()
			defer s.lock.Unlock()
			return n, a.fail(s, err)
		}
	}
}

// gather has crypto/tls keep what it has to send, in a buffer with room for size bytes. The lock
// of s is held.
func (a *adopted) gather(s sending, size int) {
	a.p = mem.DefaultBufferPool().Get(size)
	*s.buf, *s.gathers = (*a.p)[:0], true
}

// push hands what is gathered to the system. Once it has all of it crypto/tls writes again
// itself. The lock of s is held.
func (a *adopted) push(s sending) error {
	if a.werr != nil {
		return a.werr
	}
	if len(*s.buf) > 0 {
		n, err := a.sock.TryWrite(*s.buf)
		if err == readyreader.ErrWouldBlock {
			*s.buf = (*s.buf)[n:]
			return err
		}
		if err != nil {
			return a.fail(s, err)
		}
	}
	a.empty(s)
	*s.gathers = false
	return nil
}

// overfull reports whether the peer has made crypto/tls gather more than it may while it does not
// read.
func (a *adopted) overfull() bool {
	s := sendingOf(a.tls)
	if a.state.Load() != flushing || !s.lock.TryLock() {
		return false
	}
	defer s.lock.Unlock()
	return len(*s.buf) > maxOutbox
}

// flush is push, and waits for room. Meanwhile crypto/tls gathers. send is held.
func (a *adopted) flush() error {
	s := sendingOf(a.tls)
	s.lock.Lock()
	rest, p := *s.buf, a.p
	*s.buf, a.p = nil, nil
	s.lock.Unlock()
	if len(rest) == 0 {
		return nil
	}
	a.state.Store(flushing)
	_, err := a.sock.Write(rest)
	a.state.Store(gathering)
	if p != nil {
		mem.DefaultBufferPool().Put(p)
	}
	if err == nil {
		return nil
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	return a.fail(s, err)
}

// fail ends writing. It returns the error that stands. The lock of s is held.
func (a *adopted) fail(s sending, err error) error {
	if a.werr == nil {
		a.werr = err
	}
	a.empty(s)
	return a.werr
}

// empty takes from crypto/tls what it has gathered. The lock of s is held.
func (a *adopted) empty(s sending) {
	*s.buf = nil
	if a.p != nil {
		mem.DefaultBufferPool().Put(a.p)
		a.p = nil
	}
}

// dropOutput is dropInput for what is to be written.
func (a *adopted) dropOutput() {
	if a.state.Load() < gathering {
		return
	}
	s := sendingOf(a.tls)
	if !s.lock.TryLock() {
		return
	}
	defer s.lock.Unlock()
	_ = a.fail(s, net.ErrClosed)
}
