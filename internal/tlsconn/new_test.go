// SPDX-License-Identifier: Apache-2.0

//go:build unix && !grpcnotlsrelease

package tlsconn

import (
	"crypto/tls"
	"errors"
	"net"
	"runtime"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/internal/readyreader"
)

// readsItself is a wrapper with a Read of its own, and no more.
type readsItself struct{ net.Conn }

func (r *readsItself) Read(p []byte) (int, error) { return r.Conn.Read(p) }

// TLS keeps what did not fit into the socket. A wrapper around it is no socket: who puts TLS over it once more would
// take bytes as sent that lie in the connection below.
func TestWrapperOverTLSIsNoSocket(t *testing.T) {
	a, b := sockets(t, "tcp")
	defer b.Close()
	if !readyreader.NewSocket(&readsItself{a}).Can().Has(readyreader.OnSocket) {
		t.Error("a wrapper around a socket is not taken for one")
	}
	m := mode{version: tls.VersionTLS13, release: true}
	below := newConn(t, a, m.config(), false, m.release)
	defer below.Close()
	if readyreader.NewSocket(&readsItself{below}).Can().Has(readyreader.OnSocket) {
		t.Error("a wrapper around TLS is taken for a socket")
	}
	if _, ok := New(&readsItself{below}, m.config(), Options{Release: true}); ok {
		t.Error("TLS was put over a wrapper around TLS")
	}
}

// exits is a wrapper whose Read, or whose Write, can end the goroutine.
type exits struct {
	net.Conn
	on, onWrite atomic.Bool
}

func (e *exits) Write(p []byte) (int, error) {
	if e.onWrite.Load() {
		runtime.Goexit()
	}
	return e.Conn.Write(p)
}

func (e *exits) Read(p []byte) (int, error) {
	n, err := e.Conn.Read(p)
	if e.on.Load() {
		runtime.Goexit()
	}
	return n, err
}

// exiting is a connection whose server is over the wrapper.
func exiting(t *testing.T) (server, client *Conn, wrapper *exits) {
	t.Helper()
	a, b := sockets(t, "tcp")
	m := mode{version: tls.VersionTLS13, release: true}
	wrapper = &exits{Conn: a}
	server, client = newConn(t, wrapper, m.config(), true, m.release), newConn(t, b, m.config(), false, m.release)
	shake(t, client, server)
	return server, client, wrapper
}

// ends waits for a goroutine that f must end.
func ends(t *testing.T, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
		t.Error("it has returned")
	}()
	<-done
}

// TestReadEndsGoroutine: a connection can be closed whose wrapper has ended the goroutine that read. The lock was not held
// then, and its release ended the process.
func TestReadEndsGoroutine(t *testing.T) {
	server, client, wrapper := exiting(t)
	defer client.Close()
	wrapper.on.Store(true)
	if _, err := client.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	ends(t, func() { _, _ = server.Read(make([]byte, 1)) })
	server.Close()
}

// TestWriteEndsGoroutine: after a write that the wrapper has ended with its goroutine, writes fail, and do not wait for it.
func TestWriteEndsGoroutine(t *testing.T) {
	server, client, wrapper := exiting(t)
	defer client.Close()
	wrapper.onWrite.Store(true)
	ends(t, func() { _, _ = server.Write([]byte("x")) })
	if n, err := server.Write([]byte("x")); n != 0 || !errors.Is(err, errWriterLeft) {
		t.Error(n, err)
	}
	server.Close()
}
