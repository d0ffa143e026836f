// SPDX-License-Identifier: Apache-2.0

package readyreader

import (
	"io"
	"net"
	"testing"
)

// Tally is a wrapper that counts, and says so.
type Tally struct {
	net.Conn
	in, out int // as it was told
	called  int // its own methods
}

func (t *Tally) Read(p []byte) (int, error)  { t.called++; return t.Conn.Read(p) }
func (t *Tally) Write(p []byte) (int, error) { t.called++; return t.Conn.Write(p) }
func (t *Tally) ReadsOf() net.Conn           { return t.Conn }
func (t *Tally) WritesOf() net.Conn          { return t.Conn }
func (t *Tally) CountRead(n int)             { t.in += n }
func (t *Tally) CountWritten(n int)          { t.out += n }

// What is around a tally, or below it.
type (
	tallyReads  struct{ *Tally } // has a Read of its own
	tallyWrites struct{ *Tally } // a Write
	names       struct{ *Tally } // names what is read and written in its place, and counts nothing
	recounts    struct{ *Tally } // counts, but nothing that is its own
)

func (recounts) CountRead(int)    {}
func (recounts) CountWritten(int) {}

// Around a Tally, which has to be told, and would not be.
type (
	namer interface {
		net.Conn
		ReadsOf() net.Conn
		WritesOf() net.Conn
	}
	asNamer   struct{ namer } // does not have the other methods
	hidesThem struct {
		*Tally
		CountRead, CountWritten int
	}
	Another   struct{}
	ambiguous struct {
		*Tally
		Another
	}
	misled struct{ *Tally } // has others
)

func (Another) CountRead(int)    {}
func (Another) CountWritten(int) {}
func (misled) CountRead(int64)   {}
func (misled) CountWritten() int { return 0 }

// byValue counts, but its value can't be told.
type byValue struct {
	net.Conn
	n *int
}

func (b byValue) Read(p []byte) (int, error)  { return b.Conn.Read(p) }
func (b byValue) Write(p []byte) (int, error) { return b.Conn.Write(p) }
func (b byValue) ReadsOf() net.Conn           { return b.Conn }
func (b byValue) WritesOf() net.Conn          { return b.Conn }
func (b *byValue) CountRead(n int)            { *b.n += n }
func (b *byValue) CountWritten(n int)         { *b.n += n }

func (t *tallyReads) Read(p []byte) (int, error)   { return t.Tally.Read(p) }
func (t *tallyWrites) Write(p []byte) (int, error) { return t.Tally.Write(p) }
func (n *names) ReadsOf() net.Conn                 { return n.Tally }
func (n *names) WritesOf() net.Conn                { return n.Tally }

// Every byte is counted once, in whatever way it is read and written.
func TestCounted(t *testing.T) {
	if !mayCount {
		t.Skip("here a wrapper that counts is called")
	}
	forEachNetwork(t, func(t *testing.T, network string) {
		sock, peer := connPair(t, network)
		c, around := &Tally{Conn: sock}, &Tally{}
		around.Conn = &embeds{c}
		w := NewSocket(around)
		if !w.Can().Has(TriesWrites|OnSocket) || !overSocket(around) || !w.Drained() {
			t.Fatalf("%T is written as %T", around, w.Layer)
		}
		pool := newTestPool(t)
		if why := WhyNot(w, true); why != "" {
			t.Error(why)
		}
		sent := 0
		check := func(how string, n int, err error) {
			t.Helper()
			sent += n
			if err != nil || c.out != sent || around.out != sent {
				t.Errorf("%s: %d, %v: counted %d and %d of %d", how, n, err, c.out, around.out, sent)
			}
		}
		n, err := w.TryWrite(make([]byte, 10))
		check("TryWrite", n, err)
		n, err = w.Write(make([]byte, 100))
		check("Write", n, err)
		if w.Can().Has(TakesVectors) {
			n, err = w.TryWriteVector([][]byte{make([]byte, 7), nil, make([]byte, 8)})
			check("TryWriteVector", n, err)
			n, err = w.WriteVector([][]byte{make([]byte, 70), make([]byte, 80)})
			check("WriteVector", n, err)
		}
		if n, err := io.ReadFull(peer, make([]byte, sent)); err != nil {
			t.Fatal(n, err)
		}
		got := 0
		check = func(how string, n int, err error) {
			t.Helper()
			got += n
			if n == 0 || err != nil || c.in != got || around.in != got {
				t.Errorf("%s: %d, %v: counted %d and %d of %d", how, n, err, c.in, around.in, got)
			}
		}
		r := w
		if _, n, err := r.TryRead(100, pool); n != 0 || err != ErrWouldBlock || c.in != 0 {
			t.Errorf("nothing is there, and TryRead returned %d, %v and counted %d", n, err, c.in)
		}
		mustWrite(t, peer, "0123456789")
		buf, n, err := r.ReadOnReady(2, pool)
		check("ReadOnReady", n, err)
		pool.Put(buf)
		buf, n, err = r.TryRead(3, pool)
		check("TryRead", n, err)
		pool.Put(buf)
		n, err = w.TryReadInto(make([]byte, 4))
		check("TryReadInto", n, err)
		if c.called > 0 || around.called > 0 {
			t.Error("a method was called whose work was done")
		}
	})
}

// What is written otherwise is read through what counts, too.
func TestCountedReader(t *testing.T) {
	if !mayCount {
		t.Skip("here a wrapper that counts is called")
	}
	sock, peer := connPair(t, "tcp")
	c := &tallyWrites{&Tally{Conn: sock}}
	r := NewSocket(c)
	if !r.Can().Has(ReadsReady) {
		t.Fatal("it is not read when ready")
	}
	mustWrite(t, peer, "abc")
	pool := newTestPool(t)
	buf, n, err := r.ReadOnReady(8, pool)
	if err != nil || n != 3 || c.in != 3 || c.called != 0 {
		t.Errorf("%d, %v: counted %d, called %d times", n, err, c.in, c.called)
	}
	pool.Put(buf)
}

// Which wrappers that count are passed by, and which have to be called.
func TestCountedWhere(t *testing.T) {
	sock, _ := connPair(t, "tcp")
	pipe, other := net.Pipe()
	defer pipe.Close()
	defer other.Close()
	on := &Tally{Conn: sock}
	for name, tt := range map[string]struct {
		conn    net.Conn
		in, out int // how many count on the way to the socket; -1: it is not reached
	}{
		"a socket":                       {sock, 0, 0},
		"one that counts":                {on, 1, 1},
		"that, embedded":                 {&embeds{on}, 1, 1},
		"that, embedded by its type":     {struct{ *Tally }{on}, 1, 1},
		"two":                            {&Tally{Conn: on}, 2, 2},
		"below one that says no more":    {&names{on}, 1, 1},
		"below one that counts no reads": {recounts{on}, 1, 1},
		"as one that names another":      {asNamer{on}, -1, -1},
		"that, by its address":           {&embeds{&asNamer{on}}, -1, -1},
		"hidden by fields":               {hidesThem{Tally: on}, 1, 1},
		"ambiguous":                      {ambiguous{Tally: on}, 1, 1},
		"with other arguments":           {misled{on}, 1, 1},
		"by value":                       {byValue{sock, nil}, -1, -1},
		"by its address":                 {&byValue{sock, new(int)}, 1, 1},
		"Read is another's":              {&tallyReads{on}, -1, 1},
		"Write is another's":             {&tallyWrites{on}, 1, -1},
		"over Read of its own":           {&Tally{Conn: &reads{sock}}, -1, 1},
		"over a pipe":                    {&Tally{Conn: pipe}, -1, -1},
		"over ReadOnReady":               {&Tally{Conn: &ready{sock}}, -1, 1},
		"over nothing":                   {&Tally{}, -1, -1},
		"says that it is one, of itself": {func() net.Conn { c := &Tally{}; c.Conn = c; return c }(), -1, -1},
	} {
		for _, d := range []struct {
			name string
			way  func(*shape) *way
			want int
		}{{"Read", inward, tt.in}, {"Write", outward, tt.out}} {
			if !mayCount && d.want > 0 {
				d.want = -1
			}
			p, got := descend(tt.conn, d.way), -1
			if p.end == sock {
				got = len(p.counts)
			}
			if got != d.want {
				t.Errorf("%s: %s: %T, past %d that count, want %d", name, d.name, p.end, got, d.want)
			}
			if p.end != sock && len(p.counts) > 0 {
				t.Errorf("%s: %s is counted twice", name, d.name)
			}
		}
	}
}
