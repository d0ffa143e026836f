// SPDX-License-Identifier: Apache-2.0

package readyreader

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/internal/testutils"
	"google.golang.org/grpc/mem"
)

// Each way to read returns what comes first, whole, and then the connection's own.
func TestPrefixed(t *testing.T) {
	needsDescriptor(t)
	ways := map[string]func(t *testing.T, c *prefixed, p []byte) (int, error){
		"Read":        func(_ *testing.T, c *prefixed, p []byte) (int, error) { return c.Read(p) },
		"TryReadInto": func(_ *testing.T, c *prefixed, p []byte) (int, error) { return c.TryReadInto(p) },
		"ReadOnReady": func(t *testing.T, c *prefixed, p []byte) (int, error) {
			pool := newTestPool(t)
			buf, n, err := c.ReadOnReady(len(p), pool)
			if buf != nil {
				copy(p, (*buf)[:n])
				pool.Put(buf)
			}
			return n, err
		},
		"TryRead": func(t *testing.T, c *prefixed, p []byte) (int, error) {
			pool := newTestPool(t)
			buf, n, err := c.TryRead(len(p), pool)
			if buf != nil {
				copy(p, (*buf)[:n])
				pool.Put(buf)
			}
			return n, err
		},
	}
	forEachNetwork(t, func(t *testing.T, network string) {
		for name, read := range ways {
			t.Run(name, func(t *testing.T) {
				self, peer := connPair(t, network)
				c := NewSocket(self).Prefixed([]byte("one two")).(*prefixed)
				mustWrite(t, peer, " three")
				if err := AwaitInput(c.RawConn()); err != nil {
					t.Fatal(err)
				}
				var got []byte
				for p := make([]byte, 4); len(got) < len("one two three"); {
					n, err := read(t, c, p)
					if err != nil {
						t.Fatalf("after %q: %v", got, err)
					}
					got = append(got, p[:n]...)
				}
				if string(got) != "one two three" {
					t.Errorf("%q", got)
				}
				if c.p != nil {
					t.Error("what came first is kept")
				}
				if _, _, err := c.TryRead(10, newTestPool(t)); err != ErrWouldBlock {
					t.Errorf("then %v", err)
				}
			})
		}
	})
}

// It is read and written as what is below, and can be waited for.
func TestPrefixedIsPollable(t *testing.T) {
	needsDescriptor(t)
	self, peer := connPair(t, "tcp")
	c := NewSocket(self).Prefixed([]byte("abc"))
	s := NewSocket(c)
	if !s.Can().Has(TriesReads | TriesWrites) {
		t.Fatal("it has to be waited for")
	}
	b := New(s, Options{Pool: newTestPool(t), Size: 4096, Pooled: true})
	mustWrite(t, peer, "def")
	p, err := b.Peek(6)
	if err != nil || string(p) != "abcdef" {
		t.Fatalf("%q, %v", p, err)
	}
	b.Release()
	if why := WhyNot(s, true); why != "" {
		t.Error(why)
	}
	_ = c.SetReadDeadline(time.Unix(1, 0))
	if _, _, err := s.ReadOnReady(10, newTestPool(t)); !isTimeout(err) {
		t.Error(err)
	}
	_ = c.SetReadDeadline(time.Time{})
	mustWrite(t, c, "answer")
	if got := make([]byte, 6); true {
		if _, err := io.ReadFull(peer, got); err != nil || string(got) != "answer" {
			t.Errorf("%q, %v", got, err)
		}
	}
	c.Close()
	if _, _, err := s.ReadOnReady(10, newTestPool(t)); err == nil {
		t.Error("no error after Close")
	}
}

// What is read of a wrapper comes after what is in front of it, and who waits in its Read waits only then.
func TestPrefixedOverWrapper(t *testing.T) {
	self, peer := connPair(t, "tcp")
	c, ok := NewSocket(&reads{self}).Prefixed([]byte("seen")).(*prefixed)
	if !ok || !c.Can().Has(WaitsInRead) {
		t.Skip("a wrapper is read with a buffer for life here")
	}
	pool := newTestPool(t)
	for _, want := range []string{"seen", "more"} {
		c.WaitInRead(true, pool)
		p, err := lent(pool, func() (*[]byte, int, error) { return c.TryRead(10, pool) })
		if string(p) != want || err != nil {
			t.Errorf("%q, %v; want %q", p, err, want)
		}
		mustWrite(t, peer, "more")
	}
	if why := WhyNot(NewSocket(c), true); why != "*readyreader.reads has a Read of its own, in which it is waited for" {
		t.Error(why)
	}
}

// What can only be waited for has what comes first all the same.
func TestPrefixedPlain(t *testing.T) {
	a, b := net.Pipe()
	defer b.Close()
	c := NewSocket(a).Prefixed([]byte("abc"))
	go func() { _, _ = b.Write([]byte("def")); b.Close() }()
	got, err := io.ReadAll(c)
	if err != nil || string(got) != "abcdef" {
		t.Errorf("%q, %v", got, err)
	}
}

// fileOf returns an open file, which goes with the test. Wine has no t.TempDir.
func fileOf(t *testing.T, content []byte) *os.File {
	t.Helper()
	f, err := os.CreateTemp("", "rr")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close(); os.Remove(f.Name()) })
	if _, err := f.Write(content); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	return f
}

// Files go by the way that the connection has for them.
func TestPrefixedReadFrom(t *testing.T) {
	for _, network := range []string{"tcp", "pipe"} {
		var self, peer net.Conn
		if network == "pipe" {
			self, peer = net.Pipe()
		} else {
			self, peer = connPair(t, network)
		}
		c := NewSocket(self).Prefixed(nil)
		f := fileOf(t, bytes.Repeat([]byte("file"), 1000))
		sent := make(chan error, 1)
		go func() {
			_, err := io.Copy(c, io.MultiReader(f, strings.NewReader("!")))
			if network == "tcp" {
				closeWrite(t, c)
			} else {
				c.Close()
			}
			sent <- err
		}()
		got, err := io.ReadAll(peer)
		if err != nil || len(got) != 4001 {
			t.Errorf("%d bytes, %v", len(got), err)
		}
		if err := <-sent; err != nil {
			t.Error(err)
		}
	}
}

// readyRead is a LastWords with a ReadOnReady of its own.
type readyRead struct{ testutils.LastWords }

func (c *readyRead) Read(p []byte) (int, error) { return c.LastWords.Read(p) }

func (c *readyRead) ReadOnReady(size int, pool mem.BufferPool) (*[]byte, int, error) {
	buf := pool.Get(size)
	n, err := c.Read(window(buf, size))
	return buf, n, err
}

// TestPrefixedEndsWithTheError: an error that came with the bytes that are in front is returned after them, by each way
// to read, though the connection below does not return it again.
func TestPrefixedEndsWithTheError(t *testing.T) {
	tcp, _ := connPair(t, "tcp")
	pipe, _ := net.Pipe()
	want := errors.New("reset")
	for name, conn := range map[string]func() net.Conn{
		"plain":   func() net.Conn { return &testutils.LastWords{Conn: pipe, Words: "abc", Err: want} },
		"wrapper": func() net.Conn { return &testutils.LastWords{Conn: tcp, Words: "abc", Err: want} },
		"ready":   func() net.Conn { return &readyRead{testutils.LastWords{Conn: pipe, Words: "abc", Err: want}} },
	} {
		for way, give := range map[string]func(Socket, []byte) net.Conn{"Prefixed": Socket.Prefixed, "Unread": Socket.Unread} {
			s, p := NewSocket(conn()), make([]byte, 9)
			n, err := s.Read(p)
			if n != 3 || err != nil {
				t.Fatalf("%s: read %d, %v", name, n, err)
			}
			c := give(s, p[:n])
			if got := make([]byte, n); true {
				if _, err := io.ReadFull(c, got); err != nil || string(got) != "abc" {
					t.Errorf("%s, %s: %q, %v", name, way, got, err)
				}
			}
			pool := newTestPool(t)
			s = NewSocket(c)
			if s.Can().Has(ReadsReady | TriesReads) {
				if _, _, err := s.TryRead(9, pool); err != want {
					t.Errorf("%s, %s: TryRead: %v", name, way, err)
				}
			}
			if n, err := New(s, Options{Pool: pool, Size: 100, Pooled: true}).Read(p); n != 0 || err != want {
				t.Errorf("%s, %s: then %d bytes, %v", name, way, n, err)
			}
		}
	}
}
