// SPDX-License-Identifier: Apache-2.0

package tlsconn

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"google.golang.org/grpc/internal/readyreader"
)

// Whatever room there is, what was taken arrives after a last, empty Write.
func TestWouldBlock(t *testing.T) {
	forEachKind(t, func(t *testing.T, m mode) {
		for _, room := range []int{1, 100, 20_000, 200_000} {
			client, server, a, _ := memPair(t, m)
			a.out.room = room
			want := pattern(min(500_000, 1000*room))
			got := make(chan []byte, 1)
			sent := 0
			for stalls := 0; sent < len(want) && stalls < 3; { // none of it is read
				n, err := client.TryWrite(want[sent:])
				sent += n
				switch {
				case err == readyreader.ErrWouldBlock:
					stalls++
				case err != nil || sent < len(want):
					t.Fatalf("%d bytes: %v", n, err)
				}
			}
			if len(client.out.b) > chunkSize+chunkSize/4 {
				t.Errorf("%d bytes wait inside", len(client.out.b))
			}
			go func() {
				p, _ := receive(server, len(want))
				got <- p
			}()
			// As the connection above does it: what is not taken goes to a goroutine
			// that waits.
			if n, err := client.Write(want[sent:]); n != len(want)-sent || err != nil {
				t.Errorf("Write: %d, %v", n, err)
			}
			if n, err := client.Write(nil); n != 0 || err != nil {
				t.Errorf("Write of nothing: %d, %v", n, err)
			}
			if !bytes.Equal(<-got, want) {
				t.Error("other bytes received")
			}
			client.Close()
			server.Close()
		}
	})
}

// Pieces arrive in order, whatever room there is, and as many bytes are taken as is said.
func TestPieces(t *testing.T) {
	forEachKind(t, func(t *testing.T, m mode) {
		for _, room := range []int{0, 100, 200_000} {
			client, server, a, _ := memPair(t, m)
			a.out.room = room
			size := 300_000
			if room == 100 {
				size = chunkSize // more than is kept inside; each write takes so little that more of them show nothing
			}
			want := pattern(2 * size)
			pieces := func(from int) [][]byte {
				cuts := [][]byte{nil, want[:9], want[9 : size+9], {}, want[size+9 : size+18], want[size+18:]}
				for i, p := range cuts {
					n := min(from, len(p))
					cuts[i], from = p[n:], from-n
				}
				return cuts
			}
			got := make(chan []byte, 1)
			n, err := client.TryWriteVector(pieces(0))
			if blocked := err == readyreader.ErrWouldBlock; blocked != (room > 0) || err != nil && !blocked || (n == len(want)) != (room == 0) {
				t.Fatalf("room for %d: %d bytes, %v", room, n, err)
			}
			go func() {
				p, _ := receive(server, len(want))
				got <- p
			}()
			if k, err := client.WriteVector(pieces(n)); k != len(want)-n || err != nil {
				t.Errorf("WriteVector: %d, %v", k, err)
			}
			if !bytes.Equal(<-got, want) {
				t.Error("other bytes received")
			}
			client.Close()
			server.Close()
		}
	})
}

// All taken, not all sent: only an empty write is left to do.
func TestWouldBlockAtTheEnd(t *testing.T) {
	client, server, a, _ := memPair(t, mode{version: tls.VersionTLS13, release: true})
	a.out.room = 10
	want := pattern(1000)
	n, err := client.TryWrite(want)
	if n != len(want) || err != readyreader.ErrWouldBlock {
		t.Fatalf("%d, %v", n, err)
	}
	if n, err := client.TryWrite(nil); n != 0 || err != readyreader.ErrWouldBlock {
		t.Fatalf("again: %d, %v", n, err)
	}
	if n, err := client.TryWrite([]byte("more")); n != 0 || err != readyreader.ErrWouldBlock {
		t.Fatalf("more was taken while there is no room: %d, %v", n, err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := client.Write(nil)
		done <- err
	}()
	got, err := receive(server, len(want))
	if err != nil || !bytes.Equal(got, want) {
		t.Fatal("other bytes received", err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	wantIdle(t, client)
}

// A full socket: Write waits, its deadline ends that, and writing can go on.
func TestWriteDeadline(t *testing.T) {
	forEachKind(t, func(t *testing.T, m mode) {
		client, server := pair(t, "unix", m)
		want := pattern(4 << 20) // more than the system buffers
		sent, err := client.TryWrite(want)
		if err != readyreader.ErrWouldBlock {
			t.Fatal(err)
		}
		for range 3 {
			client.SetWriteDeadline(time.Now().Add(time.Millisecond))
			n, err := client.Write(want[sent:])
			sent += n
			if !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatalf("Write: %d, %v", n, err)
			}
		}
		client.SetWriteDeadline(time.Time{})
		done := make(chan error, 1)
		go func() {
			_, err := client.Write(want[sent:])
			done <- err
		}()
		if got, err := receive(server, len(want)); err != nil || !bytes.Equal(got, want) {
			t.Error("other bytes received", err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// Close ends a Write that waits, and returns.
func TestCloseWhileWriting(t *testing.T) {
	forEachKind(t, func(t *testing.T, m mode) {
		client, _ := pair(t, "tcp", m)
		want := pattern(1 << 20)
		var err error
		for err == nil {
			_, err = client.TryWrite(want)
		}
		done := make(chan error)
		go func() {
			_, err := client.Write(want)
			done <- err
		}()
		client.Close()
		if err := <-done; !errors.Is(err, net.ErrClosed) {
			t.Errorf("Write: %v", err)
		}
		if client.out.p != nil {
			t.Error("a buffer is held")
		}
	})
}

// The peer resets the connection: writes fail, and go on failing.
func TestWriteToReset(t *testing.T) {
	forEachKind(t, func(t *testing.T, m mode) {
		a, b := sockets(t, "tcp")
		client, server := over(t, m.wrapClient(a), m.wrapServer(b), m)
		b.(*net.TCPConn).SetLinger(0)
		server.raw.Close()
		var err error
		for err == nil {
			_, err = client.Write(pattern(1000))
		}
		if _, again := client.TryWrite([]byte("x")); again == nil || again == readyreader.ErrWouldBlock {
			t.Errorf("after %v: %v", err, again)
		}
		if client.out.p != nil {
			t.Error("a buffer is held")
		}
	})
}

// CloseWrite into a full socket does not wait, and still arrives.
func TestCloseWriteBehindData(t *testing.T) {
	forEachKind(t, func(t *testing.T, m mode) {
		client, server := pair(t, "tcp", m)
		var err error
		sent := 0
		for err == nil {
			var n int
			n, err = client.TryWrite(pattern(100_000))
			sent += n
		}
		if err := client.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, server)
		if n != int64(sent) || err != nil {
			t.Errorf("%d bytes of %d, then %v", n, sent, err)
		}
	})
}

// Both sides send at once through sockets of any size: no deadlock.
func TestSmallSocketBuffers(t *testing.T) {
	for _, size := range []int{4 << 10, 64 << 10} {
		forEachKind(t, func(t *testing.T, m mode) {
			network := "unix"
			if m.over != nil {
				if size < 64<<10 {
					return // TCP takes ages
				}
				network = "tcp"
			}
			a, b := sockets(t, network)
			for _, s := range []net.Conn{a, b} {
				s := s.(interface {
					SetReadBuffer(int) error
					SetWriteBuffer(int) error
				})
				s.SetReadBuffer(size)
				s.SetWriteBuffer(size)
			}
			client, server := over(t, m.wrapClient(a), m.wrapServer(b), m)
			want := pattern(1 << 20)
			errs := make(chan error, 4)
			for _, c := range []*Conn{client, server} {
				go func() { errs <- send(c, want) }()
				go func() {
					got, err := receive(c, len(want))
					if err == nil && !bytes.Equal(got, want) {
						err = errors.New("other bytes received")
					}
					errs <- err
				}()
			}
			for range 4 {
				if err := <-errs; err != nil {
					t.Error(err)
				}
			}
		})
	}
}
