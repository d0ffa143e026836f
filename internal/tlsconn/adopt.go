// SPDX-License-Identifier: Apache-2.0

package tlsconn

import (
	"crypto/tls"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"google.golang.org/grpc/internal/readyreader"
	"google.golang.org/grpc/internal/tlsconn/keyrest"
	"google.golang.org/grpc/internal/tlsconn/tlsbuf"
	"google.golang.org/grpc/mem"
)

// Adopt is for a *tls.Conn that the program made itself, or a wrapper that only embeds one. It returns the
// same connection in a form that can be waited for without a goroutine and without the buffers of
// crypto/tls. It returns any other connection as it is. It also does so if the tls.Conn does not run over a
// socket, if its layout is not known (see package tlsbuf), or if opts does not ask for Release.
func Adopt(conn net.Conn, opts Options) net.Conn {
	t, ok := readyreader.Innermost(conn).(*tls.Conn)
	if !ok || t == nil || !readyreader.ReadsSocket(t.NetConn()) || !opts.Release || !releasable() {
		return conn
	}
	s := readyreader.NewSocket(t.NetConn())
	if !s.Can().Has(readyreader.TriesReads) {
		return conn
	}
	return &adopted{Conn: conn, tls: t, rc: s.RawConn(), rests: opts.Rest && restable()}
}

// adopted is a tls.Conn that is read when its socket is ready. crypto/tls reads the
// socket itself, and leaves partial records where they are after a deadline.
type adopted struct {
	readyreader.BaseLayer
	net.Conn // what Adopt was given
	tls      *tls.Conn
	rc       syscall.RawConn
	rests    bool // ciphers are put to rest: see package keyrest

	// Owned by the reader.
	shaken bool  // the handshake is over
	late   error // an error that came with bytes; the next read returns it

	mu       sync.Mutex
	retained readyreader.Retained // guarded by mu
	closed   bool                 // guarded by mu; then nothing is retained
}

// recordMemory is the memory that crypto/tls takes for a record until the whole record is there, in bytes.
const recordMemory = 18 << 10

// NetConn returns what the tls.Conn is over.
func (a *adopted) NetConn() net.Conn { return a.tls.NetConn() }

// Can implements readyreader.Layer.
func (a *adopted) Can() readyreader.Ability {
	return readyreader.ReadsReady | readyreader.TriesReads | readyreader.HoldsBytes
}

// ReadOnReady implements readyreader.Layer. What it reads into is retained until Read returns, as
// Read waits for the rest of a record.
func (a *adopted) ReadOnReady(size int, pool mem.BufferPool) (*[]byte, int, error) {
	if err := a.shake(); err != nil {
		return nil, 0, err
	}
	if a.late == nil && !tlsbuf.Of(a.tls).HoldsRecord() {
		if err := readyreader.AwaitInput(a.rc); err != nil {
			return nil, 0, err
		}
	}
	buf := pool.Get(size)
	a.retain(len(*buf) + recordMemory + tlsbuf.Of(a.tls).Unfinished())
	n, err := a.Read((*buf)[:min(len(*buf), size)])
	if readyreader.Again(err) {
		a.retain(recordMemory + tlsbuf.Of(a.tls).Unfinished())
	} else {
		a.retain(0)
	}
	if n > 0 {
		return buf, n, nil
	}
	pool.Put(buf)
	return nil, 0, err
}

// Read implements readyreader.Layer. tls.Conn does not repeat all of its errors.
func (a *adopted) Read(p []byte) (int, error) {
	if a.late != nil {
		return 0, a.late
	}
	n, err := a.Conn.Read(p)
	if n > 0 {
		if err != nil && !readyreader.Again(err) {
			a.late = err
		}
		err = nil
	}
	return n, err
}

// shake runs the handshake. Until that is over, the first goroutine that writes may be using tls.Conn's
// buffers.
func (a *adopted) shake() error {
	if a.shaken {
		return nil
	}
	err := a.tls.Handshake()
	a.shaken = err == nil
	return err
}

// TryRead implements readyreader.Layer. It reads nothing: ReadOnReady has to read what there is, because
// that may be less than a record.
func (a *adopted) TryRead(int, mem.BufferPool) (*[]byte, int, error) {
	if a.shaken && a.late == nil && !tlsbuf.Of(a.tls).HoldsRecord() && !readyreader.HasInput(a.rc) {
		return nil, 0, readyreader.ErrWouldBlock
	}
	return nil, 0, os.ErrDeadlineExceeded
}

// retain says how many bytes of memory a keeps.
func (a *adopted) retain(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.closed {
		a.retained.Set(n)
	}
}

// Held implements readyreader.Layer.
func (a *adopted) Held() int { return a.retained.Load() }

// Retained implements readyreader.Layer.
func (a *adopted) Retained() int { return a.retained.Load() }

// CountIn implements readyreader.Layer.
func (a *adopted) CountIn(sum *atomic.Int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.retained.CountIn(sum)
}

// Close implements net.Conn.
func (a *adopted) Close() error {
	a.mu.Lock()
	a.closed = true
	a.retained.Set(0)
	a.mu.Unlock()
	return a.Conn.Close()
}

// RawConn implements readyreader.Layer.
func (a *adopted) RawConn() syscall.RawConn { return a.rc }

// ReleaseIdle gives back what crypto/tls holds and does not need.
func (a *adopted) ReleaseIdle() {
	if !a.shaken {
		return
	}
	tlsbuf.Of(a.tls).Release()
	if a.rests {
		in, out := keyrest.Halves(a.tls)
		in.Rest()
		out.Rest()
	}
}

// CloseWrite does what tls.Conn's CloseWrite does.
func (a *adopted) CloseWrite() error { return a.tls.CloseWrite() }
