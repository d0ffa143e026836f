// SPDX-License-Identifier: Apache-2.0

package altsconn

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"google.golang.org/grpc/internal/readyreader"
	"google.golang.org/grpc/mem"
)

func TestBothWays(t *testing.T) {
	for _, network := range networks {
		for _, protocol := range []string{AES128GCM, AES128GCMRekey} {
			for _, maxRecord := range []int{0, MinRecord, 64 << 10, MaxRecord} {
				t.Run(fmt.Sprint(network, protocol, maxRecord), func(t *testing.T) {
					a, b := pair(t, network, Config{Protocol: protocol, MaxRecord: maxRecord, Pool: newPool(t)})
					for _, n := range []int{1, 100, 16 << 10, 100_000, 3 << 20} {
						msg := random(n)
						done := make(chan error, 1)
						go func() {
							_, err := io.Copy(b, io.LimitReader(b, int64(n)))
							done <- err
						}()
						echoed := make(chan []byte, 1)
						go func() {
							p := make([]byte, n)
							io.ReadFull(a, p)
							echoed <- p
						}()
						mustWrite(t, a, msg)
						if err := <-done; err != nil {
							t.Fatal(err)
						}
						if !bytes.Equal(<-echoed, msg) {
							t.Fatalf("%d bytes came back changed", n)
						}
					}
				})
			}
		}
	}
}

// What is written makes records of the negotiated size, as few as possible, in
// one write up to sealChunk.
func TestRecordSizes(t *testing.T) {
	for _, tt := range []struct {
		limit, write int
		want         []int // record sizes, overhead included
	}{
		{0, 10, []int{10 + overhead}},
		{0, 16<<10 - overhead, []int{16 << 10}},
		{0, 16<<10 - overhead + 1, []int{16 << 10, 1 + overhead}},
		{1, 5000, []int{4096, 5000 - (4096 - overhead) + overhead}},
		{4096, 5000, []int{4096, 5000 - (4096 - overhead) + overhead}},
		{100_000, 150_000, []int{100_000, 150_000 - (100_000 - overhead) + overhead}},
		{1 << 20, 300_000, []int{300_000 + overhead}},
		{1 << 20, 1<<20 - overhead, []int{1 << 20}},
		{1 << 20, 1 << 20, []int{1 << 20, 2 * overhead}},
		{1 << 30, 1 << 20, []int{1 << 20, 2 * overhead}},
	} {
		a, b := rawPair(t, "tcp")
		c := wrap(t, a, Config{MaxRecord: tt.limit, Pool: newPool(t)})
		written := make(chan struct{})
		go func() {
			c.Write(make([]byte, tt.write))
			close(written)
		}()
		for i, want := range tt.want {
			header := make([]byte, headerSize)
			if _, err := io.ReadFull(b, header); err != nil {
				t.Fatal(err)
			}
			size, err := recordSize(header)
			if err != nil || size != want {
				t.Errorf("limit %d, %d bytes written: record %d has %d bytes (%v), want %d", tt.limit, tt.write, i, size, err, want)
				break
			}
			io.CopyN(io.Discard, b, int64(size-headerSize))
		}
		b.Close() // ends a write that is not over
		<-written
	}
}

// After a large message a connection that is told to be idle is as it was when fresh,
// but for the counters.
func TestIdleAsFresh(t *testing.T) {
	for _, network := range networks {
		pool := newPool(t)
		a, b := pair(t, network, Config{MaxRecord: MaxRecord, Pool: pool})
		inner := func(c net.Conn) *conn {
			if s, ok := c.(*Socket); ok {
				return s.conn
			}
			return c.(*conn)
		}
		fresh := inner(b).in
		msg := random(1 << 20)
		go a.Write(msg)
		wantRead(t, b, msg)
		b.(interface{ ReleaseIdle() }).ReleaseIdle()
		used := &inner(b).in
		if used.held != fresh.held || used.plain != nil || used.chunk != fresh.chunk {
			t.Errorf("%s: %+v, want %+v", network, used, fresh)
		}
		inner(a).wmu.Lock() // the writer is done
		if w := &inner(a).out; w.buf != nil {
			t.Errorf("%s: the writer holds a buffer", network)
		}
		inner(a).wmu.Unlock()
		if n := pool.Stats().Buffers; n != 0 {
			t.Errorf("%s: %d buffers", network, n)
		}
	}
}

// A stream of records, cut at every place into what the handshake read and what
// the socket has.
func TestLeftover(t *testing.T) {
	for _, network := range networks {
		s := newSealer(t, Server)
		stream := append(s.record([]byte("first")), s.record(random(100))...)
		stream = append(stream, s.record(nil)...)
		stream = append(stream, s.record([]byte("last"))...)
		want := append(append([]byte("first"), random(100)...), "last"...)
		for cut := range len(stream) + 1 {
			a, b := rawPair(t, network)
			c := wrap(t, a, Config{Leftover: stream[:cut], Pool: newPool(t)})
			go b.Write(stream[cut:])
			wantRead(t, c, want)
		}
	}
}

// Bytes that arrive one at a time hold at most about twice their number while the
// connection waits, and after them nothing is held.
func TestTrickleHoldsWhatArrived(t *testing.T) {
	needsTry(t)
	pool := newPool(t)
	a, b := rawPair(t, "tcp")
	c := wrap(t, a, Config{Pool: pool}).(readyreader.Layer)
	msg := random(20_000)
	rec := newSealer(t, Server).record(msg)
	var got []byte
	for i := range rec {
		mustWrite(t, b, rec[i:i+1])
		for {
			buf, n, err := c.TryRead(32<<10, pool)
			if err == nil {
				got = append(got, (*buf)[:n]...)
				pool.Put(buf)
				break
			}
			if err != readyreader.ErrWouldBlock {
				t.Fatal(err)
			}
			if held := arrived(c); held == i+1 {
				break
			}
		}
		limit := 2*(i+1) + slack
		if i < smallTail {
			limit = 0
		}
		if s := pool.Stats(); i < len(rec)-1 && s.Bytes > int64(2*limit) {
			t.Fatalf("%d bytes are held for %d that arrived", s.Bytes, i+1)
		}
	}
	if !bytes.Equal(got, msg) {
		t.Error("the message is another one")
	}
	if s := pool.Stats(); s.Buffers != 0 {
		t.Errorf("%d buffers held after the record", s.Buffers)
	}
}

// smallTail is how many bytes pin no pooled buffer.
const smallTail = 64

func arrived(c any) int { return c.(*Socket).in.held.Len() }

// A length that only is declared allocates nothing.
func TestDeclaredLength(t *testing.T) {
	needsTry(t)
	for _, sent := range []int{1, 4, 7, 8, 9, 64, 65, 1000, 5000, 100_000} {
		pool := newPool(t)
		a, b := rawPair(t, "tcp")
		c := wrap(t, a, Config{Pool: pool})
		rec := newSealer(t, Server).record(make([]byte, 1<<20-overhead))
		mustWrite(t, b, rec[:sent])
		for arrived(c) != sent {
			if _, err := c.(*Socket).TryReadInto(make([]byte, 1)); err != readyreader.ErrWouldBlock {
				t.Fatal(err)
			}
		}
		if s := pool.Stats(); sent <= smallTail && s.Buffers != 0 || s.Bytes > int64(4*sent+slack) {
			t.Errorf("%d bytes in %d buffers are held for %d that arrived", s.Bytes, s.Buffers, sent)
		}
		// A read that waits holds no more: look from another goroutine, once the
		// reader has found the socket empty.
		a.SetReadDeadline(time.Now().Add(time.Millisecond))
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("read: %v", err)
		}
		if s := pool.Stats(); s.Bytes > int64(4*sent+slack) {
			t.Errorf("after the wait %d bytes are held for %d that arrived", s.Bytes, sent)
		}
		a.SetReadDeadline(time.Time{})
		go b.Write(rec[sent:])
		wantRead(t, c, make([]byte, 1<<20-overhead))
		if s := pool.Stats(); s.Buffers != 0 {
			t.Errorf("%d buffers are held after the record", s.Buffers)
		}
	}
}

// Each kind of nonsense ends the connection with its error, now and later, and the
// socket with it.
func TestBadInput(t *testing.T) {
	good := newSealer(t, Server).record([]byte("good"))
	bad := bytes.Clone(good)
	bad[10] ^= 1
	short := binary.LittleEndian.AppendUint32(nil, typeSize+tagSize-1)
	var re *recordError
	for name, tt := range map[string]struct {
		input []byte
		want  func(error) bool
	}{
		"short frame": {short, func(err error) bool { return errors.As(err, &re) }},
		"oversized":   {[]byte{1, 0, 0x10, 0}, func(err error) bool { return errors.As(err, &re) }},
		"huge":        {[]byte{0xff, 0xff, 0xff, 0xff}, func(err error) bool { return errors.As(err, &re) }},
		"other type":  {append(bytes.Clone(good[:4]), 7, 0, 0, 0), func(err error) bool { return errors.As(err, &re) }},
		"wrong tag":   {bad, func(err error) bool { return errors.Is(err, ErrAuth) }},
		"own records": {newSealer(t, Client).record([]byte("back")), func(err error) bool { return errors.Is(err, ErrAuth) }},
	} {
		for _, network := range networks {
			for _, first := range []bool{false, true} { // behind a good record
				a, b := rawPair(t, network)
				c := wrap(t, a, Config{Pool: newPool(t)})
				input := tt.input
				s := newSealer(t, Server)
				if first {
					input = append(s.record([]byte("ok")), s.record([]byte("later"))...)
					input[len(input)-1] ^= 4
					if name != "wrong tag" {
						input = append(s.record([]byte("ok"))[:0:0], newSealer(t, Server).record([]byte("ok"))...)
						input = append(input, tt.input...)
					}
				}
				go b.Write(input)
				if first {
					wantRead(t, c, []byte("ok"))
				}
				for range 2 {
					if n, err := c.Read(make([]byte, 100)); n != 0 || !tt.want(err) {
						t.Errorf("%s, %s: %d, %v", network, name, n, err)
					}
				}
				if _, err := a.Write([]byte("x")); err == nil {
					t.Errorf("%s, %s: the socket is still open", network, name)
				}
			}
		}
	}
}

func TestEndOfStream(t *testing.T) {
	rec := newSealer(t, Server).record(random(1000))
	for _, network := range networks {
		for _, tt := range []struct {
			sent int
			want error
		}{{0, io.EOF}, {1, io.ErrUnexpectedEOF}, {8, io.ErrUnexpectedEOF}, {500, io.ErrUnexpectedEOF}, {len(rec), io.EOF}} {
			a, b := rawPair(t, network)
			c := wrap(t, a, Config{Pool: newPool(t)})
			go func() {
				b.Write(rec[:tt.sent])
				b.Close()
			}()
			if tt.sent == len(rec) {
				wantRead(t, c, random(1000))
			}
			if _, err := c.Read(make([]byte, 1)); err != tt.want {
				t.Errorf("%s, after %d bytes: %v, want %v", network, tt.sent, err, tt.want)
			}
		}
	}
}

// A deadline in the middle of a record loses nothing.
func TestReadDeadline(t *testing.T) {
	for _, network := range networks {
		a, b := rawPair(t, network)
		c := wrap(t, a, Config{Pool: newPool(t)})
		rec := newSealer(t, Server).record(random(5000))
		for i := 0; i < len(rec); i += 700 {
			part := rec[i:min(i+700, len(rec))]
			sent := make(chan struct{})
			go func() {
				b.Write(part)
				close(sent)
			}()
			if i+700 >= len(rec) {
				wantRead(t, c, random(5000))
				break
			}
			for done := false; !done; {
				c.SetReadDeadline(time.Now().Add(time.Millisecond))
				if _, err := c.Read(make([]byte, 10)); !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Fatalf("%s: %v", network, err)
				}
				select {
				case <-sent:
					done = true
				default:
				}
			}
			c.SetReadDeadline(time.Time{})
		}
	}
}

// Close ends a read that waits and gives back what is held, read or not.
func TestClose(t *testing.T) {
	for _, network := range networks {
		a, b := rawPair(t, network)
		c := wrap(t, a, Config{Pool: newPool(t)})
		rec := newSealer(t, Server).record(random(5000))
		two := make(chan struct{})
		go func() {
			b.Write(rec)
			b.Write(rec[:3000])
			close(two)
		}()
		wantRead(t, c, random(5000)[:10])
		got := make(chan error)
		go func() {
			_, err := io.Copy(io.Discard, c)
			got <- err
		}()
		<-two
		c.Close()
		if err := <-got; err == nil {
			t.Errorf("%s: no error", network)
		}
		if _, err := c.Read(make([]byte, 1)); err == nil {
			t.Errorf("%s: read after close: no error", network)
		}
		if _, err := c.Write(make([]byte, 1)); err == nil {
			t.Errorf("%s: write after close: no error", network)
		}
	}
}

// wrapper reads itself.
type wrapper struct{ net.Conn }

func (w *wrapper) Read(p []byte) (int, error) { return w.Conn.Read(p) }

// ownWrites reads as a socket does, and has a Write of its own.
type ownWrites struct{ net.Conn }

func (o *ownWrites) ReadsOf() net.Conn           { return o.Conn }
func (o *ownWrites) Write(p []byte) (int, error) { return o.Conn.Write(p) }

func TestInterfaces(t *testing.T) {
	a, b := rawPair(t, "tcp")
	c, d := rawPair(t, "tcp")
	e, _ := rawPair(t, "tcp")
	for name, tt := range map[string]struct {
		raw       net.Conn
		pollable  bool
		ownWrites bool
	}{
		"tcp":     {a, true, false},
		"wrapped": {&wrapper{Conn: b}, false, false},
		"embeds":  {struct{ net.Conn }{d}, true, false},
		"writes":  {&ownWrites{e}, true, true},
		"layered": {wrap(t, c, Config{}), false, false},
	} {
		if tt.pollable {
			needsTry(t)
		}
		c := wrap(t, tt.raw, Config{})
		s := readyreader.NewSocket(c)
		if s.Layer != c.(readyreader.Layer) {
			t.Errorf("%s: read and written as a %T", name, s.Layer)
		}
		want := readyreader.ReadsReady | readyreader.HoldsBytes
		if tt.pollable {
			want |= readyreader.TriesReads | readyreader.TriesWrites | readyreader.TakesVectors
		}
		if tt.ownWrites {
			want &^= readyreader.TriesWrites
		}
		if can := s.Can(); can != want {
			t.Errorf("%s: it can do %b, want %b", name, can, want)
		}
		// The descriptor carries ciphertext: nobody is to find it by accident.
		if _, ok := c.(interface{ SyscallConn() }); ok {
			t.Errorf("%s: has SyscallConn", name)
		}
	}
}

func TestNewErrors(t *testing.T) {
	a, _ := net.Pipe()
	defer a.Close()
	for _, cfg := range []Config{{}, {Protocol: "ALTSRP_X", Key: make([]byte, 16)}, {Protocol: AES128GCM}} {
		if _, err := New(readyreader.NewSocket(a), cfg); err == nil {
			t.Errorf("%+v: no error", cfg)
		}
	}
}

// trying can be read without waiting, but who waits for it has to wait in Read: its socket says nothing.
type trying struct {
	readyreader.BaseLayer
	net.Conn
}

func (t *trying) Can() readyreader.Ability {
	return readyreader.TriesReads | readyreader.TriesWrites | readyreader.WaitsInRead
}

func (t *trying) Read(p []byte) (int, error)     { return t.Conn.Read(p) }
func (t *trying) Write(p []byte) (int, error)    { return t.Conn.Write(p) }
func (t *trying) TryWrite(p []byte) (int, error) { return t.Conn.Write(p) }

func (t *trying) ReadOnReady(size int, pool mem.BufferPool) (*[]byte, int, error) {
	return t.BaseLayer.ReadOnReady(size, pool)
}

func (t *trying) TryRead(size int, pool mem.BufferPool) (*[]byte, int, error) {
	return t.BaseLayer.TryRead(size, pool)
}

// TestLayerThatIsWaitedForInRead: over such a layer the connection waits in Read, too, and does not say that it could be
// read without waiting.
func TestLayerThatIsWaitedForInRead(t *testing.T) {
	a, b := rawPair(t, "tcp")
	c, err := newOver(readyreader.NewSocket(&trying{Conn: a}), Config{Protocol: AES128GCMRekey, Key: key(AES128GCMRekey), Pool: newPool(t)}, true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if can := c.(readyreader.Layer).Can(); can.HasAny(readyreader.TriesReads | readyreader.TriesWrites) {
		t.Errorf("it can %b", can)
	}
	peer, msg := wrap(t, b, Config{Side: Server}), random(1000)
	mustWrite(t, peer, msg)
	wantRead(t, c, msg)
	mustWrite(t, c, msg)
	wantRead(t, peer, msg)
}
