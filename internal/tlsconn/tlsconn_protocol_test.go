// SPDX-License-Identifier: Apache-2.0

package tlsconn

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/internal/readyreader"
	"google.golang.org/grpc/internal/tlsconn/tlsbuf"
	"google.golang.org/grpc/mem"
)

func wantRead(t *testing.T, c *Conn, want string) {
	t.Helper()
	buf, n, err := c.TryRead(1000, mem.DefaultBufferPool())
	if err != nil {
		t.Fatalf("want %q: %v", want, err)
	}
	if got := string((*buf)[:n]); got != want {
		t.Fatalf("read %q, want %q", got, want)
	}
	mem.DefaultBufferPool().Put(buf)
}

// New keys, over and over, alone and around data, in both directions.
func TestKeyUpdate(t *testing.T) {
	forEachPeer13(t, func(t *testing.T, p *peer13, c *Conn) {
		for range 50 {
			p.write(p.update(true), p.seal(typeData, []byte("abc")), p.update(false), p.seal(typeData, []byte("def")))
			wantRead(t, c, "abcdef")
			p.want(typeHandshake, updateMessage(false)) // without a write of ours
			p.write(p.update(true))
			wantIdle(t, c)
			p.want(typeHandshake, updateMessage(false))
			if err := send(c, []byte("reply")); err != nil {
				t.Fatal(err)
			}
			p.want(typeData, []byte("reply"))
		}
	})
}

// A KeyUpdate in two records, which arrive apart.
func TestSplitKeyUpdate(t *testing.T) {
	forEachPeer13(t, func(t *testing.T, p *peer13, c *Conn) {
		for at := 1; at < 5; at++ {
			message := updateMessage(true)
			p.send(typeHandshake, message[:at])
			wantIdle(t, c)
			p.send(typeHandshake, message[at:])
			wantIdle(t, c)
			p.out.next()
			p.want(typeHandshake, updateMessage(false))
			p.send(typeData, []byte("x"))
			wantRead(t, c, "x")
		}
	})
}

// The same over each kind of wrapper, with records that arrive in two parts and a reader that
// waits; then the end of the stream.
func TestKeyUpdatesOverWrappers(t *testing.T) {
	forEachKind(t, func(t *testing.T, m mode) {
		if m.version != tls.VersionTLS13 {
			t.Skip("there are no KeyUpdates")
		}
		for _, asClient := range []bool{true, false} {
			b, a := m.sockets(t, "tcp")
			if !asClient {
				a, b = b, a
			}
			p, c := newPeer13Over(t, m, asClient, a, b)
			for range 50 {
				records := bytes.Join([][]byte{
					p.update(true), p.seal(typeData, []byte("abc")), p.update(false), p.seal(typeData, []byte("def")),
				}, nil)
				at := rand.IntN(len(records))
				p.write(records[:at])
				go p.write(records[at:])
				if got, err := receive(c, 6); err != nil || string(got) != "abcdef" {
					t.Fatalf("cut at %d: %q, %v", at, got, err)
				}
				p.want(typeHandshake, updateMessage(false))
				if err := send(c, []byte("reply")); err != nil {
					t.Fatal(err)
				}
				p.want(typeData, []byte("reply"))
			}
			p.write(p.seal(typeData, []byte("last")), p.seal(typeAlert, []byte{1, 0}))
			if got, err := receive(c, 5); err != io.EOF || string(got) != "last" {
				t.Errorf("at the end: %q, %v", got, err)
			}
		}
	})
}

// The answers to KeyUpdates do not wait for a full socket, and follow as soon as
// there is room, whether or not anybody writes.
func TestKeyUpdateIntoFullSocket(t *testing.T) {
	forEachPeer13(t, func(t *testing.T, p *peer13, c *Conn) {
		p.sock.in.room = 1
		for range 3 {
			p.write(p.update(true), p.seal(typeData, []byte("x")))
			wantRead(t, c, "x")
		}
		in := p.sock.in
		in.mu.Lock()
		in.room = 0
		in.changed.Broadcast()
		for range 3 {
			for len(in.b) < recordHeaderLen+5+17 {
				in.changed.Wait()
			}
			in.mu.Unlock()
			p.want(typeHandshake, updateMessage(false))
			in.mu.Lock()
		}
		in.mu.Unlock()
	})
}

// A peer that asks for answers and reads none makes us hold so much and no more.
func TestKeyUpdateFlood(t *testing.T) {
	forEachPeer13(t, func(t *testing.T, p *peer13, c *Conn) {
		if raceEnabled {
			t.Skip("thousands of keys are slow to make")
		}
		p.sock.in.room = 1
		var err error
		for n := 0; err == nil; n++ {
			if n > maxOutbox {
				t.Fatal("it goes on and on")
			}
			p.write(p.update(true), p.seal(typeData, []byte("x")))
			_, err = c.Read(make([]byte, 1))
			c.out.mu.Lock()
			held := len(c.out.b)
			c.out.mu.Unlock()
			if held > maxOutbox {
				t.Fatalf("%d bytes wait", held)
			}
		}
		if _, err := c.TryWrite([]byte("x")); err == nil {
			t.Error("writing goes on")
		}
	})
}

// Useless records without end are refused, as crypto/tls does it.
func TestUselessRecords(t *testing.T) {
	forEachPeer13(t, func(t *testing.T, p *peer13, c *Conn) {
		for range 100 {
			p.send(typeData, nil)
		}
		if _, err := c.Read(make([]byte, 1)); err == nil || !strings.Contains(err.Error(), "ignored records") {
			t.Errorf("got %v", err)
		}
		p.want(typeAlert, []byte{2, 10}) // fatal, unexpected_message
	})
}

// Data and close_notify in one piece: the data comes first, the end second.
func TestDataThenCloseNotify(t *testing.T) {
	forEachPeer13(t, func(t *testing.T, p *peer13, c *Conn) {
		p.write(p.seal(typeData, []byte("last")), p.seal(typeAlert, []byte{1, 0}))
		wantRead(t, c, "last")
		for range 2 {
			if _, err := c.Read(make([]byte, 1)); err != io.EOF {
				t.Errorf("got %v", err)
			}
		}
	})
}

// An alert is the peer's error, and stays.
func TestAlert(t *testing.T) {
	forEachPeer13(t, func(t *testing.T, p *peer13, c *Conn) {
		p.write(p.seal(typeData, []byte("last")), p.seal(typeAlert, []byte{2, 80}))
		wantRead(t, c, "last")
		for range 2 {
			_, err := c.Read(make([]byte, 1))
			var op *net.OpError
			if !errors.As(err, &op) || op.Op != "remote error" {
				t.Errorf("got %v", err)
			}
		}
	})
}

// A message that has no place here: an alert leaves without waiting, and reading
// is over.
func TestUnexpectedMessage(t *testing.T) {
	forEachPeer13(t, func(t *testing.T, p *peer13, c *Conn) {
		p.write(p.seal(typeData, []byte("ok")), p.seal(typeHandshake, []byte{20, 0, 0, 1, 0}), p.seal(typeData, []byte("not ok")))
		wantRead(t, c, "ok")
		for range 2 {
			if n, err := c.Read(make([]byte, 10)); n != 0 || err == nil || err == readyreader.ErrWouldBlock {
				t.Errorf("got %d bytes, %v", n, err)
			}
		}
		p.want(typeAlert, []byte{2, 10})
	})
}

// Records of all lengths, cut at each of their bytes.
func TestSplitRecords(t *testing.T) {
	forEachMode(t, func(t *testing.T, m mode) {
		client, server, a, _ := memPair(t, m)
		for _, size := range []int{1, 40} {
			for cut := 0; ; cut++ {
				for range 2 {
					if err := send(client, pattern(size)); err != nil {
						t.Fatal(err)
					}
				}
				whole := a.out.b
				if cut > len(whole) {
					break
				}
				var got []byte
				for _, part := range [][]byte{whole[:cut], whole[cut:]} {
					a.out.b = part
					for {
						p := make([]byte, 7)
						usedUp := server.usedUp() && len(a.out.b) == 0
						n, err := server.TryReadInto(p)
						if usedUp && err != readyreader.ErrWouldBlock {
							t.Fatalf("cut at %d: used up, and then %d bytes, %v", cut, n, err)
						}
						if err == readyreader.ErrWouldBlock {
							break
						} else if err != nil {
							t.Fatal(err)
						}
						got = append(got, p[:n]...)
					}
					server.ReleaseIdle()
				}
				if want := append(pattern(size), pattern(size)...); !bytes.Equal(got, want) {
					t.Fatalf("cut at %d: read %x", cut, got)
				}
			}
			for len(a.out.b) > 0 { // what the last round sent
				if _, err := server.TryReadInto(make([]byte, 100)); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

// FuzzSplit sends messages of given sizes, lets the socket give as many bytes at a
// time as the input says, and reads with as much room as it says.
func FuzzSplit(f *testing.F) {
	f.Add([]byte{1, 2, 3}, []byte{5, 1, 255}, true, true)
	f.Add([]byte{255, 255, 0, 9}, []byte{0}, false, true)
	f.Add([]byte{200, 7}, []byte{4, 1, 29, 0, 250}, true, false)
	f.Fuzz(func(t *testing.T, messages, steps []byte, release, new13 bool) {
		if len(messages) > 20 || len(steps) == 0 || len(steps) > 50 {
			return
		}
		m := mode{version: 0x0303, release: release}
		if new13 {
			m.version = 0x0304
		}
		client, server, _, b := memPair(t, m)
		defer client.Close()
		defer server.Close()
		var want, got []byte
		for _, size := range messages {
			p := pattern(int(size) * int(size))
			want = append(want, p...)
			if err := send(client, p); err != nil {
				t.Fatal(err)
			}
		}
		for i := 0; len(got) < len(want); i++ {
			step := int(steps[i%len(steps)])
			b.most = max(1, step*step/2, len(want)/1000)
			if i%3 == 0 {
				server.ReleaseIdle()
			}
			var n int
			var err error
			if i%2 == 0 {
				p := make([]byte, 1+step*100)
				n, err = server.TryReadInto(p)
				got = append(got, p[:n]...)
			} else {
				var buf *[]byte
				if buf, n, err = server.TryRead(1+step*200, mem.DefaultBufferPool()); err == nil {
					got = append(got, (*buf)[:n]...)
					mem.DefaultBufferPool().Put(buf)
				}
			}
			if err != nil && err != readyreader.ErrWouldBlock {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(got, want) {
			t.Fatal("other bytes received")
		}
		b.most = 0
		wantIdle(t, server)
	})
}

// The part of a handshake message that whole records have brought is retained, too.
func TestRetainsPartOfHandshakeMessage(t *testing.T) {
	if !tlsbuf.Found() {
		t.Skip("crypto/tls keeps it to itself here")
	}
	p, ours := newPeer13(t, true, true)
	var sum atomic.Int64
	ours.CountIn(&sum)
	const (
		certificate = 11 // RFC 8446 section 4: the longest that crypto/tls waits for
		size        = 256 << 10
	)
	message := append([]byte{certificate, size >> 16, size >> 8 & 0xff, size & 0xff}, make([]byte, 15<<10)...)
	p.send(typeHandshake, message)
	if _, _, err := ours.TryRead(100, mem.DefaultBufferPool()); err != readyreader.ErrWouldBlock {
		t.Fatal(err)
	}
	ours.ReleaseIdle()
	if n := len(message); ours.Retained() < n || sum.Load() < int64(n) || ours.Held() < n {
		t.Errorf("%d bytes retained, %d counted, %d held, of %d", ours.Retained(), sum.Load(), ours.Held(), n)
	}
	if err := ours.Close(); err != nil {
		t.Fatal(err)
	}
	if sum.Load() != 0 {
		t.Errorf("%d bytes are counted in the end", sum.Load())
	}
}
