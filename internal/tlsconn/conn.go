// SPDX-License-Identifier: Apache-2.0

package tlsconn

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync/atomic"
	"syscall"
	"time"

	"google.golang.org/grpc/internal/readyreader"
	"google.golang.org/grpc/internal/tlsconn/tlsbuf"
	"google.golang.org/grpc/mem"
)

func (c *Conn) start(config *tls.Config, server bool) {
	c.intake.Pool = cipherPool(c.release, tlsbuf.Tested())
	if server {
		c.tls = tls.Server((*wire)(c), config)
	} else {
		c.tls = tls.Client((*wire)(c), config)
	}
}

// cipherPool returns the pool for ciphertext. Memory that was lent to a tls.Conn of an untested version of
// Go is not used again: if that tls.Conn kept a slice of it, another connection's bytes would be read
// through the slice.
func cipherPool(lent, tested bool) mem.BufferPool {
	if lent && !tested {
		return mem.NopBufferPool{}
	}
	return mem.DefaultBufferPool()
}

// HandshakeContext runs the handshake, waiting for the peer. It must be called before all methods but
// Close. If ctx ends first, the connection is closed.
func (c *Conn) HandshakeContext(ctx context.Context) error {
	if err := c.tls.HandshakeContext(ctx); err != nil {
		if e, ok := err.(tls.RecordHeaderError); ok {
			e.Conn = Underlying(e.Conn)
			return e
		}
		return err
	}
	c.rmu.Lock() // Close may come at any time
	defer c.rmu.Unlock()
	if c.closed {
		return net.ErrClosed
	}
	c.open.Store(true)
	if c.release {
		c.intake.dry = !c.holdsRecord()
		c.settle()
	}
	return nil
}

// ConnectionState does what tls.Conn's ConnectionState does.
func (c *Conn) ConnectionState() tls.ConnectionState { return c.tls.ConnectionState() }

// OCSPResponse does what tls.Conn's OCSPResponse does.
func (c *Conn) OCSPResponse() []byte { return c.tls.OCSPResponse() }

// VerifyHostname does what tls.Conn's VerifyHostname does.
func (c *Conn) VerifyHostname(host string) error { return c.tls.VerifyHostname(host) }

// NetConn returns the socket below. Reading or writing it breaks the connection.
func (c *Conn) NetConn() net.Conn { return c.raw }

// RawConn returns the socket to wait on. What it carries is ciphertext.
func (c *Conn) RawConn() syscall.RawConn { return c.sock.RawConn() }

// Can implements readyreader.Layer.
func (c *Conn) Can() readyreader.Ability {
	const below = readyreader.WaitsInRead | readyreader.TriesWrites
	return readyreader.ReadsReady | readyreader.TriesReads | readyreader.TakesVectors | readyreader.HoldsBytes |
		c.sock.Can()&below
}

// WhyNot returns why the connection can't be waited for without a goroutine, or "" if it can be.
func (c *Conn) WhyNot() string { return c.sock.WhyNot() }

// LocalAddr returns the socket's local address.
func (c *Conn) LocalAddr() net.Addr { return c.raw.LocalAddr() }

// RemoteAddr returns the socket's remote address.
func (c *Conn) RemoteAddr() net.Addr { return c.raw.RemoteAddr() }

// SetDeadline sets both deadlines.
func (c *Conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// SetReadDeadline ends a wait for input at t. Nothing is lost by it: reading can
// go on after another deadline was set.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.raw.SetReadDeadline(t) }

// SetWriteDeadline ends a wait in Write at t. Unlike with tls.Conn, writing can go
// on after another deadline was set.
func (c *Conn) SetWriteDeadline(t time.Time) error { return c.raw.SetWriteDeadline(t) }

// CloseWrite sends the peer the close_notify alert (RFC 8446, section 6.1): the peer reads the end of the
// stream after all that was written. CloseWrite does not wait; a goroutine sends what finds no room. After
// that nothing can be written, but the connection can be read, and the socket is not shut down.
func (c *Conn) CloseWrite() error {
	err := c.tls.CloseWrite()
	c.flushSoon()
	return err
}

// Close sends close_notify, if there is room for it, and closes the socket. Where the connection below has a
// Write of its own, a goroutine does both, and takes a second at most to close. A Read or Write that waits ends
// with an error.
func (c *Conn) Close() error {
	defer func() { // also if code of the program ends the goroutine
		c.rmu.Lock()
		c.closed = true
		c.intake.endVigil()
		c.drop()
		c.rmu.Unlock()
	}()
	return c.tls.Close()
}

// Held returns the memory, in bytes, of ciphertext that was read and yields nothing yet, and of records
// that wait for room. It may be called at any time, and does not wait for a reader that waits in the Read
// of a wrapper.
func (c *Conn) Held() int {
	n := c.Retained()
	if c.rmu.TryLock() {
		n = c.kept()
		c.rmu.Unlock()
	}
	c.out.mu.Lock()
	defer c.out.mu.Unlock()
	return n + cap(c.out.b)
}

// Retained returns the memory, in bytes, of the part of a record that the connection holds while it waits
// for the rest. It may be called at any time.
func (c *Conn) Retained() int { return c.retained.Load() }

// CountIn makes c add what it retains to sum, until the connection is closed. It must be called before the
// first read.
func (c *Conn) CountIn(sum *atomic.Int64) {
	c.rmu.Lock()
	defer c.rmu.Unlock()
	c.retained.CountIn(sum)
}

// Underlying returns what TLS runs over if conn is the connection that crypto/tls shows in its callbacks,
// as ClientHelloInfo.Conn. Otherwise it returns conn.
func Underlying(conn net.Conn) net.Conn {
	if w, ok := conn.(*wire); ok {
		return w.raw
	}
	return conn
}

// ShowSocket makes c's callbacks see the connection that TLS was put over, as they do with
// a tls.Conn.
func ShowSocket(c *tls.Config) {
	if get := c.GetCertificate; get != nil {
		c.GetCertificate = func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			hello.Conn = Underlying(hello.Conn)
			return get(hello)
		}
	}
	if get := c.GetEncryptedClientHelloKeys; get != nil {
		c.GetEncryptedClientHelloKeys = func(hello *tls.ClientHelloInfo) ([]tls.EncryptedClientHelloKey, error) {
			hello.Conn = Underlying(hello.Conn)
			return get(hello)
		}
	}
}
