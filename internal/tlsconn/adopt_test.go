// SPDX-License-Identifier: Apache-2.0

package tlsconn

import (
	"crypto/tls"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc/internal/readyreader"
	"google.golang.org/grpc/internal/testutils"
	"google.golang.org/grpc/mem"
)

// TestAdoptedKeepsTheError: an error that comes together with bytes, such as TCP's when it gives up, is returned after
// them by each way to read. Nobody waits for a socket that has nothing to say any more.
func TestAdoptedKeepsTheError(t *testing.T) {
	for name, again := range map[string]func(*adopted, mem.BufferPool) error{
		"ReadOnReady": func(a *adopted, pool mem.BufferPool) error { _, _, err := a.ReadOnReady(9, pool); return err },
		"Read":        func(a *adopted, _ mem.BufferPool) error { _, err := a.Read(make([]byte, 9)); return err },
	} {
		ours, theirs := sockets(t, "tcp")
		server, client := tls.Server(ours, testConfig()), tls.Client(theirs, testConfig())
		a, ok := Adopt(server, Options{Release: true}).(*adopted)
		if !ok {
			t.Skip("no tls.Conn is read when its socket is ready here")
		}
		shake(t, client, server)
		if _, err := client.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		gaveUp := os.NewSyscallError("read", syscall.ETIMEDOUT)
		a.Conn = &testutils.LastWords{Conn: server, Words: "abc", Err: gaveUp}
		pool := mem.DefaultBufferPool()
		buf, n, err := a.ReadOnReady(9, pool)
		if err != nil || n != 3 {
			t.Fatalf("%d bytes, %v", n, err)
		}
		pool.Put(buf)
		if _, err := ours.Read(make([]byte, 100)); err != nil { // the socket has no input
			t.Fatal(err)
		}
		if _, _, err := a.TryRead(9, pool); err == readyreader.ErrWouldBlock {
			t.Errorf("%s: the socket is waited for", name)
		} else if err := again(a, pool); err != gaveUp {
			t.Errorf("%s: then %v", name, err)
		}
	}
}

// diverted puts what is written into to, if that is set.
type diverted struct {
	net.Conn
	to *[]byte
}

func (d *diverted) Write(p []byte) (int, error) {
	if d.to == nil {
		return d.Conn.Write(p)
	}
	*d.to = append(*d.to, p...)
	return len(p), nil
}

// announced says when a Read begins.
type announced struct {
	net.Conn
	begun chan<- struct{}
}

func (a *announced) Read(p []byte) (int, error) {
	a.begun <- struct{}{}
	return a.Conn.Read(p)
}

// TestAdoptedRetains: what the first byte of a record makes crypto/tls hold is retained, and counted in the sum, until the rest
// has come, or the connection is closed; also while a prefix is in front.
func TestAdoptedRetains(t *testing.T) {
	for _, ends := range []string{"with the rest", "with a deadline, then the rest", "closed"} {
		ours, theirs := sockets(t, "tcp")
		wire := &diverted{Conn: theirs}
		server, client := tls.Server(ours, testConfig()), tls.Client(wire, testConfig())
		a, ok := Adopt(server, Options{Release: true}).(*adopted)
		if !ok {
			t.Skip("no tls.Conn is read when its socket is ready here")
		}
		shake(t, client, server)
		if _, err := client.Write([]byte("x")); err != nil { // so that no handshake message is left
			t.Fatal(err)
		}
		if n, err := a.Read(make([]byte, 9)); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		begun := make(chan struct{}, 10)
		a.Conn = &announced{Conn: server, begun: begun}
		pool := mem.DefaultBufferPool()
		sock := readyreader.NewSocket(readyreader.NewSocket(a).Prefixed([]byte("p")))
		var sum atomic.Int64
		sock.CountIn(&sum)
		read := func() (string, error) {
			buf, n, err := sock.ReadOnReady(100, pool)
			if err != nil {
				return "", err
			}
			defer pool.Put(buf)
			return string((*buf)[:n]), nil
		}
		if got, err := read(); got != "p" || err != nil {
			t.Fatalf("%q, %v", got, err)
		}

		var record []byte
		wire.to = &record
		if _, err := client.Write([]byte("hello")); err != nil {
			t.Fatal(err)
		}
		if _, err := theirs.Write(record[:1]); err != nil {
			t.Fatal(err)
		}
		type result struct {
			got string
			err error
		}
		done := make(chan result)
		again := func() { got, err := read(); done <- result{got, err} }
		go again()
		<-begun
		if n := sum.Load(); n < recordMemory || !sock.Can().Has(readyreader.HoldsBytes) || n != int64(sock.Held()) {
			t.Errorf("%d bytes are counted, %d held", n, sock.Held())
		}
		switch ends {
		case "closed":
			if err := sock.Conn.Close(); err != nil {
				t.Fatal(err)
			}
			if sum.Load() != 0 {
				t.Errorf("closed: %d bytes are counted", sum.Load())
			}
			if r := <-done; r.err == nil {
				t.Errorf("closed: read %q", r.got)
			}
		case "with a deadline, then the rest":
			if err := sock.Conn.SetReadDeadline(time.Unix(1, 0)); err != nil {
				t.Fatal(err)
			}
			if r := <-done; !readyreader.Again(r.err) {
				t.Fatalf("a deadline: %q, %v", r.got, r.err)
			}
			if sum.Load() != recordMemory {
				t.Errorf("part of a record: %d bytes are counted", sum.Load())
			}
			if err := sock.Conn.SetReadDeadline(time.Time{}); err != nil {
				t.Fatal(err)
			}
			go again()
			fallthrough
		default:
			if _, err := theirs.Write(record[1:]); err != nil {
				t.Fatal(err)
			}
			if r := <-done; r.got != "hello" || r.err != nil {
				t.Errorf("%s: %q, %v", ends, r.got, r.err)
			}
		}
		if sum.Load() != 0 || sock.Retained() != 0 {
			t.Errorf("%s: %d bytes are counted, %d retained in the end", ends, sum.Load(), sock.Retained())
		}
	}
}
