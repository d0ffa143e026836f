// SPDX-License-Identifier: Apache-2.0

//go:build !grpcnotlsrelease

package tlsconn

import (
	"io"
	"net"
	"os"
	"sync/atomic"

	"google.golang.org/grpc/internal/readyreader"
	"google.golang.org/grpc/mem"
)

// ReadOnReady implements readyreader.Reader.
func (a *adopted) ReadOnReady(size int, pool mem.BufferPool) (*[]byte, int, error) {
	if err := a.enter(true); err != nil {
		return nil, 0, err
	}
	defer a.leave()
	buf := pool.Get(size)
	n, err := a.decrypt((*buf)[:min(len(*buf), max(size, 0))])
	if n > 0 {
		return buf, n, nil
	}
	pool.Put(buf)
	return nil, 0, err
}

// TryRead implements readyreader.TryReader. It reads nothing: what there is, is for ReadOnReady,
// as that may have to wait for more.
func (a *adopted) TryRead(int, mem.BufferPool) (*[]byte, int, error) {
	if a.state.Load() >= shaken {
		if err := a.enter(false); err != nil {
			return nil, 0, err
		}
		a.leave()
	}
	return nil, 0, os.ErrDeadlineExceeded
}

// MayWait implements readyreader.Hesitant: TryRead does not.
func (a *adopted) MayWait() bool { return false }

// Read implements net.Conn.
func (a *adopted) Read(p []byte) (int, error) {
	if err := a.enter(true); err != nil {
		return 0, err
	}
	defer a.leave()
	return a.decrypt(p)
}

// enter takes mu, once crypto/tls has something to decrypt or the end of the stream to tell.
func (a *adopted) enter(wait bool) error {
	if err := a.shake(); err != nil {
		return err
	}
	a.mu.Lock()
	if a.in == nil {
		a.in = &readyreader.Stock{Pool: mem.DefaultBufferPool()}
	}
	for a.rerr == nil && !holdsRecord(a.tls) {
		if err := a.fill(wait); err != nil {
			a.leave()
			return err
		}
	}
	if a.rerr != nil && a.rerr != io.EOF {
		defer a.leave()
		return a.rerr
	}
	return nil
}

func (a *adopted) leave() {
	a.mu.Unlock()
	if a.closed.Load() {
		a.dropInput()
	}
}

// dropInput gives back what a closed connection has read. Where somebody reads it is for that
// one, who calls it afterwards.
func (a *adopted) dropInput() {
	if !a.mu.TryLock() {
		return
	}
	defer a.mu.Unlock()
	if a.in != nil {
		forget(a.tls)
		a.in.Drop()
	}
	a.retained.Set(0)
}

// decrypt reads of one record.
func (a *adopted) decrypt(p []byte) (int, error) {
	n, err := a.tls.Read(p)
	settle(a.tls, a.in)
	if a.overfull() {
		a.rerr = errPeerNotReading
	}
	if n > 0 {
		return n, nil // the error, if any, comes again
	}
	return 0, err
}

// fill reads more ciphertext.
func (a *adopted) fill(wait bool) error {
	if a.closed.Load() {
		return net.ErrClosed
	}
	if err := top(a.tls, a.in, a.sock, cipherSize); err != readyreader.ErrWouldBlock {
		return a.filled(err)
	}
	a.stash()
	loan := a.in.Borrow(cipherSize)
	size := cipherSize - a.in.Len()
	var n int
	var err error
	if wait {
		// Close may come meanwhile; what is left here then is not ours.
		a.mu.Unlock()
		_, n, err = a.sock.ReadOnReady(size, loan)
		a.mu.Lock()
	} else {
		_, n, err = a.sock.TryRead(size, loan)
	}
	if err == nil && a.closed.Load() {
		n, err = 0, net.ErrClosed
	}
	loan.Done(n)
	if err != nil {
		return a.filled(err)
	}
	feed(a.tls, a.in)
	a.retained.Set(0)
	return nil
}

// filled says what became of an attempt to read ciphertext.
func (a *adopted) filled(err error) error {
	if err == nil || readyreader.Again(err) {
		return err
	}
	a.rerr = err
	return nil
}

// stash gets ready for a wait.
func (a *adopted) stash() {
	stash(a.tls, a.in)
	a.retained.Set(a.in.Memory())
}

// Drained implements readyreader.Drainer.
func (a *adopted) Drained() bool {
	if a.state.Load() < shaken {
		return false
	}
	a.mu.Lock()
	defer a.leave()
	return a.rerr == nil && isDrained(buffersOf(a.tls))
}

// ReleaseIdle implements readyreader.IdleReleaser.
func (a *adopted) ReleaseIdle() {
	if a.state.Load() < shaken {
		return
	}
	a.mu.Lock()
	if a.in != nil {
		a.stash()
		if a.in.Len() == 0 {
			release(buffersOf(a.tls)) // of what in has for a few bytes
			a.in = nil
		}
	}
	a.leave()
	if restable() {
		in, out := halvesOf(a.tls)
		in.rest()
		out.rest()
	}
}

// Held implements readyreader.Holder.
func (a *adopted) Held() int { return a.Retained() }

// Retained implements readyreader.Holder.
func (a *adopted) Retained() int { return a.retained.Load() }

// CountIn implements readyreader.Holder.
func (a *adopted) CountIn(sum *atomic.Int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.retained.CountIn(sum)
}
