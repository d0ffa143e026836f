// SPDX-License-Identifier: Apache-2.0

package tlsconn

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/internal/readyreader"
	"google.golang.org/grpc/mem"
)

// What was written before CloseWrite arrives, then the end of the stream; the
// other direction goes on.
func TestCloseWrite(t *testing.T) {
	forEachKind(t, func(t *testing.T, m mode) {
		client, server := pair(t, "tcp", m)
		want := pattern(50_000)
		if err := send(client, want); err != nil {
			t.Fatal(err)
		}
		if err := client.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(server)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes and %v", len(got), err)
		}
		if _, _, err := server.TryRead(10, mem.DefaultBufferPool()); err != io.EOF {
			t.Errorf("again: %v", err)
		}
		_, err = client.TryWrite([]byte("x"))
		if err == readyreader.ErrWouldBlock { // who sends close_notify in the background is about to end
			_, err = client.Write([]byte("x"))
		}
		if err == nil || err == readyreader.ErrWouldBlock {
			t.Errorf("writing after it: %v", err)
		}
		exchange(t, server, client, want)
	})
}

// Close tells a peer of any kind that this is the end.
func TestCloseNotifies(t *testing.T) {
	forEachKind(t, func(t *testing.T, m mode) {
		a, b := m.sockets(t, "tcp")
		ours, peer := newConn(t, a, m.config(), false, m.release), tls.Server(b, m.config())
		shake(t, ours, peer)
		exchange(t, ours, peer, pattern(100))
		exchange(t, peer, ours, pattern(100))
		ours.Close()
		if _, err := peer.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("the peer read %v", err)
		}
		for name, err := range map[string]error{
			"Read":     second(ours.Read(make([]byte, 1))),
			"TryRead":  second(ours.TryReadInto(make([]byte, 1))),
			"Write":    second(ours.Write([]byte("x"))),
			"TryWrite": second(ours.TryWrite([]byte("x"))),
			"Close":    ours.Close(),
		} {
			if !errors.Is(err, net.ErrClosed) {
				t.Errorf("%s after Close: %v", name, err)
			}
		}
	})
}

func second(_ int, err error) error { return err }

// A peer that just goes: at a record's end that is the end of the stream, as
// crypto/tls sees it; within one it is an error.
func TestAbruptEnd(t *testing.T) {
	forEachKind(t, func(t *testing.T, m mode) {
		for _, kept := range []int{0, 3, 5, 40} {
			client, server, a, _ := memPair(t, m)
			for range 2 {
				if err := send(client, pattern(50)); err != nil {
					t.Fatal(err)
				}
			}
			stream := a.out
			record := len(stream.b) / 2
			stream.b = stream.b[:record+kept]
			if _, err := receive(server, 50); err != nil {
				t.Fatal(err)
			}
			if kept > 0 {
				if _, err := server.TryReadInto(make([]byte, 10)); err != readyreader.ErrWouldBlock {
					t.Errorf("a part of a record: %v", err)
				}
			}
			stream.closed = true
			want := io.ErrUnexpectedEOF
			if kept == 0 {
				want = io.EOF
			}
			for range 2 {
				if _, err := server.Read(make([]byte, 10)); err != want {
					t.Errorf("%d bytes of a record, then the end: %v, want %v", kept, err, want)
				}
			}
			client.Close()
			server.Close()
		}
	})
}

// A record that was tampered with is an alert for the peer, and the end.
func TestTampered(t *testing.T) {
	forEachMode(t, func(t *testing.T, m mode) {
		client, server, a, _ := memPair(t, m)
		if err := send(client, pattern(50)); err != nil {
			t.Fatal(err)
		}
		a.out.b[20] ^= 1
		_, err := server.Read(make([]byte, 10))
		var op *net.OpError
		if !errors.As(err, &op) || op.Op != "local error" {
			t.Errorf("got %v", err)
		}
		if _, err := client.Read(make([]byte, 10)); !errors.As(err, &op) || op.Op != "remote error" {
			t.Errorf("the sender got %v", err)
		}
		if server.intake.Memory() != 0 {
			t.Error("a buffer is held")
		}
	})
}

// A length that no record has is refused at once, not waited for.
func TestOversizedRecord(t *testing.T) {
	forEachMode(t, func(t *testing.T, m mode) {
		_, server, a, _ := memPair(t, m)
		if _, err := a.Write([]byte{23, 3, 3, 0xff, 0xff, 0}); err != nil {
			t.Fatal(err)
		}
		_, err := server.Read(make([]byte, 10))
		var header tls.RecordHeaderError
		if !errors.As(err, &header) {
			t.Errorf("got %v", err)
		}
	})
}

// Deadlines end waits and lose nothing, also with a part of a record in hand.
func TestReadDeadline(t *testing.T) {
	forEachKind(t, func(t *testing.T, m mode) {
		a, b := m.sockets(t, "tcp")
		inner, outer := newMemSockets() // where client's records can be cut
		client := newConn(t, inner, m.config(), false, m.release)
		server := newConn(t, b, m.config(), true, m.release)
		defer client.Close()
		defer server.Close()
		relayed := make(chan struct{})
		go func() {
			defer close(relayed)
			io.Copy(outer, a)
		}()
		shaken := make(chan error, 1)
		go func() { shaken <- server.HandshakeContext(t.Context()) }()
		done := make(chan error, 1)
		go func() { done <- client.HandshakeContext(t.Context()) }()
		for shaking := true; shaking; {
			select {
			case err := <-done:
				if err != nil {
					t.Fatal(err)
				}
				shaking = false
			default:
				if buf, n, err := outer.TryRead(1<<16, mem.DefaultBufferPool()); err == nil {
					a.Write((*buf)[:n])
					mem.DefaultBufferPool().Put(buf)
				}
			}
		}
		// The last flight may still be on its way.
		if buf, n, err := outer.TryRead(1<<16, mem.DefaultBufferPool()); err == nil {
			a.Write((*buf)[:n])
			mem.DefaultBufferPool().Put(buf)
		}
		if err := <-shaken; err != nil {
			t.Fatal(err)
		}
		if err := send(client, pattern(100)); err != nil {
			t.Fatal(err)
		}
		record := outer.in.b
		for _, cut := range []int{0, 2, 50} {
			a.Write(record[:cut])
			record = record[cut:]
			for range 2 {
				server.SetReadDeadline(time.Now().Add(time.Millisecond))
				if _, _, err := server.ReadOnReady(100, mem.DefaultBufferPool()); !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Fatalf("got %v", err)
				}
				if n := server.intake.Len(); m.release && n > 52 {
					t.Errorf("%d bytes are held for a part of a record", n)
				}
			}
			server.SetReadDeadline(time.Time{})
		}
		a.Write(record)
		if got, err := receive(server, 100); err != nil || !bytes.Equal(got, pattern(100)) {
			t.Errorf("afterwards: %d bytes, %v", len(got), err)
		}
		a.Close()
		<-relayed
	})
}

// Close ends a wait for input, with and without a part of a record in hand.
func TestCloseWhileReading(t *testing.T) {
	forEachKind(t, func(t *testing.T, m mode) {
		for _, part := range []int{0, 3, 1000} {
			a, b := m.sockets(t, "tcp")
			client, server := over(t, a, b, m)
			if part > 0 {
				a.Write(append([]byte{23, 3, 3, 8, 0}, make([]byte, part)...)[:part])
				for server.intake.Len() == 0 && m.release {
					if server.Can().Has(readyreader.WaitsInRead) {
						server.WaitInRead(true, nil)
					}
					_, err := server.TryReadInto(make([]byte, 1))
					if !readyreader.Again(err) {
						t.Fatal(err)
					}
				}
			}
			got := make(chan error)
			go func() {
				_, _, err := server.ReadOnReady(100, mem.DefaultBufferPool())
				got <- err
			}()
			go server.Close()
			if err := <-got; !errors.Is(err, net.ErrClosed) {
				t.Errorf("the read got %v", err)
			}
			client.Close()
		}
	})
}

// A server that rejects the client's certificate under TLS 1.3 does so after the
// client's handshake: its first read fails then.
func TestRejectedLate(t *testing.T) {
	a, b := sockets(t, "tcp")
	config := newConfig("unknown")
	config.RootCAs = testConfig().RootCAs
	client, server := newConn(t, a, config, false, true), newConn(t, b, testConfig(), true, true)
	defer client.Close()
	if err := tryShake(client, server); err == nil {
		t.Fatal("no error")
	}
	a, b = sockets(t, "tcp")
	client = newConn(t, a, config, false, true)
	server = newConn(t, b, testConfig(), true, true)
	go func() {
		server.HandshakeContext(t.Context())
		server.Close()
	}()
	err := client.HandshakeContext(t.Context())
	if err == nil {
		_, err = client.Read(make([]byte, 1))
	}
	var op *net.OpError
	if !errors.As(err, &op) || op.Op != "remote error" {
		t.Errorf("got %v", err)
	}
	client.Close()
}

// TestCloseDuringHandshake has Close come anywhere in a handshake, and right after it: it
// writes nothing that the handshake writes without a lock, and no buffer is left.
func TestCloseDuringHandshake(t *testing.T) {
	forEachMode(t, func(t *testing.T, m mode) {
		for i := range 20 {
			a, b := sockets(t, "unix")
			client := newConn(t, a, m.config(), false, m.release)
			server := newConn(t, b, m.config(), true, m.release)
			var wg sync.WaitGroup
			wg.Go(func() {
				for range i * i {
					runtime.Gosched()
				}
				client.Close()
			})
			_ = tryShake(client, server) // it may have been in time
			wg.Wait()
			server.Close()
		}
	})
}

// ownWrites reads as a socket does, says so, and has a Write of its own, which can be made to wait.
type ownWrites struct {
	net.Conn
	wrote chan []byte   // what Write was called with, once this is there
	hold  chan struct{} // a Write returns when this is closed; nil: at once
	shut  chan struct{} // is closed by Close
}

func (o *ownWrites) ReadsOf() net.Conn { return o.Conn }

func (o *ownWrites) Write(p []byte) (int, error) {
	if o.wrote != nil {
		o.wrote <- bytes.Clone(p)
	}
	if o.hold != nil {
		<-o.hold
	}
	return o.Conn.Write(p)
}

func (o *ownWrites) Close() error {
	close(o.shut)
	return o.Conn.Close()
}

// At Close a Write that is the wrapper's own gets the alert, and does not hold Close. The connection is closed
// after it, or, if it takes too long, without it.
func TestCloseNotifiesByOwnWrite(t *testing.T) {
	for _, sleeps := range []bool{false, true} {
		a, b := sockets(t, "tcp")
		below := &ownWrites{Conn: a, shut: make(chan struct{})}
		if !readyreader.NewSocket(below).Can().Has(readyreader.TriesReads) {
			t.Skip("this system can't read a socket without waiting")
		}
		m := mode{version: tls.VersionTLS12, release: releasable()}
		ours, peer := newConn(t, below, m.config(), false, m.release), tls.Server(b, m.config())
		shake(t, ours, peer)
		exchange(t, ours, peer, pattern(100))
		below.wrote = make(chan []byte, 1)
		if sleeps {
			below.hold = make(chan struct{})
		}
		ours.Close()
		if record := <-below.wrote; record[0] != 21 { // RFC 5246, section 6.2.1: an alert
			t.Errorf("a record of type %d was written", record[0])
		}
		<-below.shut
		if sleeps {
			close(below.hold)
		}
		if _, err := peer.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("the peer read %v", err)
		}
		if err := second(ours.Write([]byte("x"))); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Write after Close: %v", err)
		}
	}
}
