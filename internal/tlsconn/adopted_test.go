// SPDX-License-Identifier: Apache-2.0

//go:build !grpcnotlsrelease

package tlsconn

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/internal/readyreader"
	"google.golang.org/grpc/mem"
)

// HandshakeContext is for tests: secure has it.
func (a *adopted) HandshakeContext(ctx context.Context) error {
	if err := a.tls.HandshakeContext(ctx); err != nil {
		return err
	}
	return a.shake()
}

func (a *adopted) ConnectionState() tls.ConnectionState { return a.tls.ConnectionState() }

// adoptOver puts crypto/tls over raw and adopts that.
func adoptOver(t testing.TB, raw net.Conn, config *tls.Config, server bool) *adopted {
	t.Helper()
	c := tls.Client(raw, config)
	if server {
		c = tls.Server(raw, config)
	}
	var a *adopted
	if m, ok := raw.(*memSocket); ok {
		a = &adopted{Conn: c, tls: c, sock: m}
		if gatherable() {
			a.state.Store(promising)
		}
	} else if a, ok = Adopt(c).(*adopted); !ok {
		t.Skip("sockets can't be read without waiting here")
	}
	t.Cleanup(func() { a.Close() })
	return a
}

// adoptedPair returns two connections over a and b, which have shaken hands.
func adoptedPair(t testing.TB, a, b net.Conn, config *tls.Config) (client, server *adopted) {
	t.Helper()
	client, server = adoptOver(t, a, config, false), adoptOver(t, b, config, true)
	shake(t, client, server)
	return client, server
}

// forEachAdoptedPeer runs f over memory in both roles.
func forEachAdoptedPeer(t *testing.T, f func(t *testing.T, p *peer13, a *adopted)) {
	t.Helper()
	for name, asClient := range map[string]bool{"client": true, "server": false} {
		t.Run(name, func(t *testing.T) {
			x, y := newMemSockets()
			p, a := newPeer13With(t, mode{version: tls.VersionTLS13}, asClient, y, func(config *tls.Config) *adopted {
				return adoptOver(t, x, config, asClient)
			})
			p.sock = y
			f(t, p, a)
		})
	}
}

// wantAtRest checks that a holds nothing when it is left alone.
func wantAtRest(t testing.TB, a *adopted) {
	t.Helper()
	if !a.Drained() {
		t.Error("not drained")
	}
	a.ReleaseIdle()
	b, s := buffersOf(a.tls), sendingOf(a.tls)
	if a.in != nil || b.raw.Cap() != 0 || b.input.Size() != 0 || *s.buf != nil || *s.gathers || a.p != nil {
		t.Error("a buffer is held")
	}
}

func TestGatherable(t *testing.T) {
	if err := gatherTest(); err != nil {
		t.Error(err)
	}
}

// Messages of all sizes go both ways at once, over sockets and over little room.
func TestAdoptedExchange(t *testing.T) {
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		for _, network := range []string{"tcp", "unix", "memory", "little room"} {
			t.Run(tls.VersionName(version)+" "+network, func(t *testing.T) {
				m := mode{version: version}
				var x, y net.Conn
				switch network {
				case "memory", "little room":
					a, b := newMemSockets()
					x, y = a, b
					if network == "little room" {
						a.most, a.in.room, a.out.room = 700, 3000, 3000
					}
				default:
					x, y = m.sockets(t, network)
				}
				config := m.config()
				config.DynamicRecordSizingDisabled = false
				client, server := adoptedPair(t, x, y, config)
				var running sync.WaitGroup
				for _, c := range [][2]*adopted{{client, server}, {server, client}} {
					sizes := []int{1, 100, 5000, 16 << 10, 200_000, 1, 600_000}
					running.Go(func() {
						for _, n := range sizes {
							if err := send(c[0], pattern(n)); err != nil {
								t.Error(err)
							}
						}
					})
					running.Go(func() {
						for _, n := range sizes {
							if got, err := receiveSome(c[1], n); err != nil || !bytes.Equal(got, pattern(n)) {
								t.Errorf("%d of %d bytes: %v", len(got), n, err)
							}
						}
					})
				}
				running.Wait()
				wantAtRest(t, client)
				wantAtRest(t, server)
			})
		}
	}
}

// receiveSome is receive, which does not read more than n bytes.
func receiveSome(c readyreader.Reader, n int) ([]byte, error) {
	var got []byte
	for len(got) < n {
		buf, k, err := c.ReadOnReady(min(32<<10, n-len(got)), mem.DefaultBufferPool())
		if err != nil {
			return got, err
		}
		got = append(got, (*buf)[:k]...)
		mem.DefaultBufferPool().Put(buf)
	}
	return got, nil
}

// Where crypto/tls may have to shake hands again it sends by itself.
func TestAdoptedRenegotiates(t *testing.T) {
	x, y := sockets(t, "tcp")
	config := mode{version: tls.VersionTLS12}.config()
	config.Renegotiation = tls.RenegotiateOnceAsClient
	client, server := adoptedPair(t, x, y, config)
	if _, err := client.TryWrite([]byte("x")); err != readyreader.ErrWouldBlock {
		t.Error(err)
	}
	for range 3 {
		if err := send(client, []byte("hello")); err != nil {
			t.Error(err)
		}
		if got, err := receive(server, 5); err != nil || string(got) != "hello" {
			t.Errorf("%q, %v", got, err)
		}
	}
}

// New keys, over and over, alone and around data, in both directions.
func TestAdoptedKeyUpdate(t *testing.T) {
	forEachAdoptedPeer(t, func(t *testing.T, p *peer13, a *adopted) {
		for range 20 {
			p.write(p.update(true), p.seal(typeData, []byte("abc")), p.update(false), p.seal(typeData, []byte("def")))
			if got, err := receive(a, 6); err != nil || string(got) != "abcdef" {
				t.Fatalf("%q, %v", got, err)
			}
			p.want(typeHandshake, updateMessage(false)) // without a write of ours
			if err := send(a, []byte("reply")); err != nil {
				t.Fatal(err)
			}
			p.want(typeData, []byte("reply"))
			wantAtRest(t, a)
		}
	})
}

func TestAdoptedKeyUpdatesBesideWrites(t *testing.T) {
	forEachAdoptedPeer(t, func(t *testing.T, p *peer13, a *adopted) { keyUpdatesBesideWrites(t, p, a, a) })
}

// What crypto/tls has to say while records wait for room is behind them, and does not wait.
func TestAdoptedKeyUpdateIntoFullSocket(t *testing.T) {
	forEachAdoptedPeer(t, func(t *testing.T, p *peer13, a *adopted) {
		p.sock.in.room = 1
		if n, err := a.TryWrite([]byte("first")); n != 5 || err != readyreader.ErrWouldBlock {
			t.Fatal(n, err)
		}
		p.write(p.update(true), p.seal(typeData, []byte("x")))
		if got, err := receive(a, 1); err != nil || string(got) != "x" {
			t.Fatalf("%q, %v", got, err)
		}
		p.sock.in.mu.Lock()
		p.sock.in.room = 0
		p.sock.in.mu.Unlock()
		if _, err := a.Write([]byte("second")); err != nil {
			t.Fatal(err)
		}
		p.want(typeData, []byte("first"))
		p.want(typeHandshake, updateMessage(false))
		p.want(typeData, []byte("second"))
		wantAtRest(t, a)
	})
}

// A peer that asks for answers and reads none makes us hold so much and no more.
func TestAdoptedKeyUpdateFlood(t *testing.T) {
	if raceEnabled {
		t.Skip("thousands of keys are slow to make")
	}
	forEachAdoptedPeer(t, func(t *testing.T, p *peer13, a *adopted) {
		p.sock.in.room = 1
		if _, err := a.TryWrite([]byte("x")); err != readyreader.ErrWouldBlock {
			t.Fatal(err)
		}
		var running sync.WaitGroup
		running.Go(func() { _, _ = a.Write(nil) }) // until it is closed
		for a.state.Load() != flushing {
			runtime.Gosched()
		}
		var err error
		for n := 0; err == nil; n++ {
			if n > maxOutbox {
				t.Fatal("it goes on and on")
			}
			p.write(p.update(true), p.seal(typeData, []byte("x")))
			_, err = receive(a, 1)
		}
		if !errors.Is(err, errPeerNotReading) {
			t.Error(err)
		}
		a.Close()
		running.Wait()
	})
}

// A record without data has the reader wait, not whoever only looks; deadlines end that.
func TestAdoptedRecordWithoutData(t *testing.T) {
	x, y := sockets(t, "tcp")
	p, a := newPeer13With(t, mode{version: tls.VersionTLS13}, true, y, func(config *tls.Config) *adopted {
		return adoptOver(t, x, config, true)
	})
	for range 10 {
		p.write(p.update(true))
		if err := readyreader.AwaitInput(a.RawConn()); err != nil {
			t.Fatal(err)
		}
		if _, _, err := a.TryRead(100, mem.DefaultBufferPool()); err != os.ErrDeadlineExceeded {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- second(receive(a, 1)) }()
		p.want(typeHandshake, updateMessage(false))
		if err := a.SetReadDeadline(time.Unix(1, 0)); err != nil {
			t.Fatal(err)
		}
		if err := <-done; !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal(err)
		}
		if err := a.SetReadDeadline(time.Time{}); err != nil {
			t.Fatal(err)
		}
		wantAtRest(t, a)
		record := p.seal(typeData, []byte("x"))
		p.write(record[:9]) // a part
		if err := readyreader.AwaitInput(a.RawConn()); err != nil {
			t.Fatal(err)
		}
		if _, _, err := a.TryRead(100, mem.DefaultBufferPool()); err != readyreader.ErrWouldBlock {
			t.Fatal(err)
		}
		a.ReleaseIdle()
		p.write(record[9:])
		if got, err := receive(a, 1); err != nil || string(got) != "x" {
			t.Fatalf("%q, %v", got, err)
		}
	}
}

// What was written arrives before the end, and the other direction goes on; Close says so, too.
func TestAdoptedCloseWrite(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		x, y := mode{}.sockets(t, network)
		client, server := adoptedPair(t, x, y, mode{version: tls.VersionTLS13}.config())
		want := pattern(1 << 20)
		n, err := client.TryWrite(want)
		if err != readyreader.ErrWouldBlock {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- client.CloseWrite() }() // behind what waits
		got, err := io.ReadAll(server)
		if err != nil || !bytes.Equal(got, want[:n]) {
			t.Errorf("%d bytes of %d, %v", len(got), n, err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		if _, err := client.TryWrite([]byte("x")); err == nil || err == readyreader.ErrWouldBlock {
			t.Error("writing after it:", err)
		}
		exchangeAdopted(t, server, client)
		server.Close()
		if _, err := receive(client, 1); err != io.EOF {
			t.Error(err)
		}
	}
}

func exchangeAdopted(t *testing.T, from, to *adopted) {
	t.Helper()
	if err := send(from, []byte("hello")); err != nil {
		t.Error(err)
	}
	if got, err := receive(to, 5); err != nil || string(got) != "hello" {
		t.Errorf("%q, %v", got, err)
	}
}

// Close, of the connection or of what the program has of it, comes at any moment of reading and
// writing.
func TestAdoptedCloseAnytime(t *testing.T) {
	for range 20 {
		x, y := mode{}.sockets(t, "unix")
		client, server := adoptedPair(t, x, y, mode{version: tls.VersionTLS13}.config())
		p := pattern(1 + rand.IntN(300_000))
		var running sync.WaitGroup
		for _, a := range []*adopted{client, server} {
			running.Go(func() {
				for send(a, p) == nil {
				}
			})
			running.Go(func() {
				_, _ = receive(a, rand.IntN(1<<20))
				if rand.IntN(2) == 0 {
					running.Go(func() { _ = a.CloseWrite() }) // it may wait for room, as that of tls.Conn
				}
				if rand.IntN(2) == 0 {
					a.tls.Close()
				}
				a.Close()
			})
		}
		running.Wait()
		for _, a := range []*adopted{client, server} {
			if a.in != nil && a.in.Memory() != 0 || a.p != nil {
				t.Error("a buffer is held")
			}
		}
	}
}

// What a busy connection does costs no allocations.
func TestAdoptedAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("pools drop things at random")
	}
	x, y := newMemSockets()
	client, server := adoptedPair(t, x, y, mode{version: tls.VersionTLS13}.config())
	p := pattern(1000)
	n := testing.AllocsPerRun(200, func() {
		if _, err := client.TryWrite(p); err != nil {
			t.Fatal(err)
		}
		buf, _, err := server.ReadOnReady(32<<10, mem.DefaultBufferPool())
		if err != nil {
			t.Fatal(err)
		}
		mem.DefaultBufferPool().Put(buf)
	})
	if n > 3 {
		t.Errorf("%v allocations", n)
	}
}
