// SPDX-License-Identifier: Apache-2.0

package readyreader

import (
	"bufio"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/mem"
)

// Wrappers, each with one way to be looked through, or one reason not to be.
type (
	embeds       struct{ net.Conn }
	embedsTCP    struct{ *net.TCPConn }
	twice        struct{ *embeds }
	hidden       struct{ embeds } // not exported, but what it embeds is
	hiddenConn   struct{ conn }   // an interface that is not exported
	conn         interface{ net.Conn }
	closes       struct{ net.Conn }
	writes       struct{ net.Conn }
	reads        struct{ net.Conn }
	readsByValue struct{ net.Conn }
	above        struct{ *reads } // embeds only, but what it embeds does not
	twoConns     struct {
		net.Conn
		second
	}
	second struct{ io.Reader }
	deeper struct {
		net.Conn
		*deep
	} // two that have Read, the deeper one of no effect
	deep           struct{ second }
	itself         struct{ net.Conn }
	pointsToItself struct{ *pointsToItself }
	generic[T any] struct {
		net.Conn
		_ T
	}
	genericRead[T any] struct {
		net.Conn
		_ T
	}
	overGeneric  struct{ *genericRead[int] }
	looksReady   struct{ *ready } // ReadOnReady and Read from the same place
	shadowsReady struct{ *ready } // its own Read, another's ReadOnReady
	overShadow   struct{ *shadowsReady }
	ready        struct{ net.Conn }
	asksReader   struct {
		net.Conn
		r *bufio.Reader
	} // a field that is not embedded
	forwards    struct{ inner net.Conn } // an interface that is not embedded, and methods that forward
	middle      struct{ *reads }         // of three: the one in between has Read
	outer       struct{ *middle }
	threeOff    struct{ *embedsTwice } // of three: none has
	embedsTwice struct{ *embeds }
	overridden  struct{ *embeds } // of two: the outer one has
)

func (f *forwards) Read(p []byte) (int, error)         { return f.inner.Read(p) }
func (f *forwards) Write(p []byte) (int, error)        { return f.inner.Write(p) }
func (f *forwards) Close() error                       { return f.inner.Close() }
func (f *forwards) LocalAddr() net.Addr                { return f.inner.LocalAddr() }
func (f *forwards) RemoteAddr() net.Addr               { return f.inner.RemoteAddr() }
func (f *forwards) SetDeadline(t time.Time) error      { return f.inner.SetDeadline(t) }
func (f *forwards) SetReadDeadline(t time.Time) error  { return f.inner.SetReadDeadline(t) }
func (f *forwards) SetWriteDeadline(t time.Time) error { return f.inner.SetWriteDeadline(t) }
func (o *overridden) Read(p []byte) (int, error)       { return o.embeds.Read(p) }

func (c *closes) Close() error                                         { return c.Conn.Close() }
func (w *writes) Write(p []byte) (int, error)                          { return w.Conn.Write(p) }
func (r *reads) Read(p []byte) (int, error)                            { return r.Conn.Read(p) }
func (r readsByValue) Read(p []byte) (int, error)                      { return r.Conn.Read(p) }
func (t *twoConns) Read(p []byte) (int, error)                         { return t.second.Read(p) }
func (g *genericRead[T]) Read(p []byte) (int, error)                   { return g.Conn.Read(p) }
func (s *shadowsReady) Read(p []byte) (int, error)                     { return s.ready.Read(p) }
func (r *ready) Read(p []byte) (int, error)                            { return r.Conn.Read(p) }
func (a *asksReader) Read(p []byte) (int, error)                       { return a.r.Read(p) }
func (r *ready) ReadOnReady(int, mem.BufferPool) (*[]byte, int, error) { return nil, 0, io.EOF }

func TestEmbedding(t *testing.T) {
	sock, _ := connPair(t, "tcp")
	tcp := sock.(*net.TCPConn)
	loop := &itself{}
	loop.Conn = loop
	for name, tt := range map[string]struct {
		conn        net.Conn
		read, write bool // whether that is looked through
	}{
		"a socket":                     {tcp, true, true},
		"an interface":                 {&embeds{tcp}, true, true},
		"by value":                     {embeds{tcp}, true, true},
		"a pointer":                    {&embedsTCP{tcp}, true, true},
		"a pointer, by value":          {embedsTCP{tcp}, true, true},
		"a type without a name":        {struct{ net.Conn }{tcp}, true, true},
		"another wrapper":              {&embeds{&embeds{tcp}}, true, true},
		"a pointer to a wrapper":       {&twice{&embeds{tcp}}, true, true},
		"a wrapper not exported":       {&hidden{embeds{tcp}}, true, true},
		"Close is its own":             {&closes{tcp}, true, true},
		"Write is its own":             {&writes{tcp}, true, false},
		"Read is its own":              {&reads{tcp}, false, true},
		"Read is its own, by value":    {readsByValue{tcp}, false, true},
		"the same, pointed to":         {&readsByValue{tcp}, false, true},
		"Read is that of one below":    {above{&reads{tcp}}, false, true},
		"that, in an interface":        {&embeds{&reads{tcp}}, false, true},
		"a wrapper by value with Read": {&struct{ reads }{reads{tcp}}, false, true},
		"two":                          {&twoConns{Conn: tcp}, false, true},
		"two at different depths":      {&deeper{Conn: tcp}, false, true},
		"an interface not exported":    {&hiddenConn{tcp}, false, false},
		"a field that is not embedded": {&asksReader{Conn: tcp}, false, true},
		"such a field, and methods":    {&forwards{tcp}, false, false},
		"that, embedded":               {&embeds{&forwards{tcp}}, false, false},
		"three":                        {&threeOff{&embedsTwice{&embeds{tcp}}}, true, true},
		"Read in the middle of three":  {&outer{&middle{&reads{tcp}}}, false, true},
		"Read at the outer of two":     {&overridden{&embeds{tcp}}, false, true},
		"itself":                       {loop, false, false},
		"nothing":                      {&embeds{}, false, false},
		"a nil pointer":                {&embedsTCP{}, false, false},
		"a nil wrapper":                {(*embeds)(nil), false, false},
		"a generic type":               {&generic[int]{Conn: tcp}, false, false},
		"a generic type with Read":     {&genericRead[string]{Conn: tcp}, false, false},
		"a pointer to such":            {&overGeneric{&genericRead[int]{Conn: tcp}}, false, false},
	} {
		for _, d := range []struct {
			name string
			way  func(*shape) *way
			want bool
		}{{"Read", inward, tt.read}, {"Write", outward, tt.write}} {
			p := descend(tt.conn, d.way)
			end, better := p.end, p.layer != nil
			if got := end == net.Conn(tcp); got != d.want || better {
				t.Errorf("%s: %s is that of %T, %t", name, d.name, end, better)
			}
		}
	}
}

// A pointer that embeds its own type has no method but those that it declares.
func TestEmbeddingOfItsOwnType(t *testing.T) {
	p := &pointsToItself{}
	p.pointsToItself = p
	if _, is := any(p).(net.Conn); is {
		t.Error("it is a connection")
	}
}

// ReadOnReady counts only where Read is from the same place, or where it is declared.
func TestEmbeddedReadOnReady(t *testing.T) {
	sock, _ := connPair(t, "tcp")
	r := &ready{sock}
	for name, tt := range map[string]struct {
		conn net.Conn
		want bool
	}{
		"its own":                  {r, true},
		"embedded, with Read":      {&looksReady{r}, true},
		"in an interface":          {&embeds{r}, true},
		"without the Read":         {&shadowsReady{r}, false},
		"without, at one below":    {&overShadow{&shadowsReady{r}}, false},
		"without, by an interface": {&embeds{&shadowsReady{r}}, false},
		"alone":                    {greedy{Conn: sock}, true},
	} {
		if got := NewSocket(tt.conn).Can().Has(ReadsReady); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// counts is a wrapper that embeds only, for what it does besides.
type counts struct {
	net.Conn
	open *atomic.Int32
}

func (c *counts) Close() error {
	c.open.Add(-1)
	return c.Conn.Close()
}

// sliced is a connection of a program that can be written without waiting, and can't be compared.
type sliced struct {
	BaseLayer
	net.Conn
	_ []int
}

func (c sliced) Can() Ability                                          { return ReadsReady | TriesWrites }
func (c sliced) TryWrite(p []byte) (int, error)                        { return c.Write(p) }
func (c sliced) ReadOnReady(int, mem.BufferPool) (*[]byte, int, error) { return nil, 0, io.EOF }

// unbounded has a SetReadDeadline of its own, and overUnbounded leaves it that.
type (
	unbounded        struct{ net.Conn }
	overUnbounded    struct{ *unbounded }
	readsOfUnbounded struct{ *unbounded } // its reads call another's, and its deadlines reach as far
)

func (b *unbounded) SetReadDeadline(time.Time) error { return nil }

func (r *readsOfUnbounded) Read(p []byte) (int, error) { return r.unbounded.Read(p) }

func TestDeadlinesEndReads(t *testing.T) {
	self, _ := connPair(t, "tcp")
	for _, tt := range []struct {
		conn net.Conn
		want bool
	}{
		{self, true},
		{embeds{self}, true},
		{&embedsTCP{self.(*net.TCPConn)}, true},
		{&twice{&embeds{self}}, true},
		{&reads{self}, false}, // it may set deadlines
		{&above{&reads{self}}, false},
		{&forwards{self}, false},
		{&closes{self}, true},
		{NewSocket(self).Prefixed([]byte("x")), NewSocket(self).Can().Has(TriesReads)},
		{NewSocket(&forwards{self}).Prefixed([]byte("x")), false},
		{&unbounded{self}, false},
		{&overUnbounded{&unbounded{self}}, false},
		{&unbounded{&reads{self}}, false},
		{&readsOfUnbounded{&unbounded{self}}, false},
	} {
		if got := DeadlinesEndReads(tt.conn); got != tt.want {
			t.Errorf("%T: %v", tt.conn, got)
		}
	}
}

// TestIncomparable: connections are never compared by == alone.
func TestIncomparable(t *testing.T) {
	self, peer := connPair(t, "tcp")
	for _, conn := range []net.Conn{sliced{Conn: self}, &sliced{Conn: self}} {
		w := NewSocket(conn)
		if !w.Can().Has(TriesWrites) {
			t.Fatalf("%T can't be written", conn)
		}
		if n, err := w.TryWrite([]byte("hello")); n != 5 || err != nil {
			t.Error(n, err)
		}
		if _, err := io.ReadFull(peer, make([]byte, 5)); err != nil {
			t.Error(err)
		}
	}
}

// What is read through a wrapper that embeds only is read when ready, and as well as
// from the socket; its Close is called.
func TestReadThroughEmbedding(t *testing.T) {
	needsDescriptor(t)
	forEachNetwork(t, func(t *testing.T, network string) {
		self, peer := connPair(t, network)
		var open atomic.Int32
		open.Add(1)
		wrapped := net.Conn(&counts{self, &open})
		w := NewSocket(wrapped)
		if !w.Can().Has(TriesReads|TriesWrites) || !overSocket(wrapped) {
			t.Fatal("can't be written without waiting")
		}
		pool := newTestPool(t)
		b := New(w, Options{Pool: pool, Size: 4096, Pooled: true})
		if _, err := b.TryPeek(1); err != ErrWouldBlock {
			t.Error(err)
		}
		mustWrite(t, peer, "hello")
		wantPeek(t, b, "hello")
		if n, err := w.TryWrite([]byte("answer")); n != 6 || err != nil {
			t.Error(n, err)
		}
		got := make([]byte, 6)
		if _, err := io.ReadFull(peer, got); err != nil || string(got) != "answer" {
			t.Errorf("%q, %v", got, err)
		}
		b.Release()
		if wrapped.Close(); open.Load() != 0 {
			t.Error("another Close was called")
		}
		if _, err := b.Peek(1); err == nil {
			t.Error("read after Close")
		}
	})
}

// Each connection is looked at: it must not cost.
func TestLookingThroughAllocatesNothing(t *testing.T) {
	sock, _ := connPair(t, "tcp")
	for _, c := range []net.Conn{sock, &counts{Conn: sock}, &embeds{&counts{Conn: sock}}} {
		if n := testing.AllocsPerRun(100, func() { descend(c, inward); descend(c, outward) }); n != 0 {
			t.Errorf("%T: %v allocations", c, n)
		}
	}
}

func BenchmarkDescend(b *testing.B) {
	sock, _ := connPair(b, "tcp")
	for name, c := range map[string]net.Conn{"exact": sock, "embeds": &counts{Conn: sock}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				descend(c, inward)
			}
		})
	}
}
