// SPDX-License-Identifier: Apache-2.0

package oneport

import (
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/internal/readyreader"
	"google.golang.org/grpc/mem"
)

// lastWords is a connection that returns what the client said together with the end of the stream.
type lastWords struct {
	net.Conn
	said string
}

func (l *lastWords) Read(p []byte) (int, error) { return copy(p, l.said), io.EOF }

// goneWords is one that says only once why the stream has ended.
type goneWords struct {
	lastWords
	why error
}

func (g *goneWords) Read(p []byte) (int, error) {
	n, _ := g.lastWords.Read(p)
	err := g.why
	g.said, g.why = "", io.EOF
	return n, err
}

// readyGone is one with a ReadOnReady of its own.
type readyGone struct{ goneWords }

func (r *readyGone) Read(p []byte) (int, error) { return r.goneWords.Read(p) }

func (r *readyGone) ReadOnReady(size int, pool mem.BufferPool) (*[]byte, int, error) {
	buf := pool.Get(size)
	n, err := r.Read((*buf)[:size])
	return buf, n, err
}

// TestPassesTheErrorOn: the server that gets a connection reads what was heard, and then the error that came with it.
func TestPassesTheErrorOn(t *testing.T) {
	reset := errors.New("reset")
	for said, v := range map[string]verdict{"GET / HTTP/1.0\r\n\r\n": forHTTP, string(hello(headers(request("application/grpc")))): forGRPC} {
		for name, c := range map[string]net.Conn{
			"Read":        &goneWords{lastWords{said: said}, reset},
			"ReadOnReady": &readyGone{goneWords{lastWords{said: said}, reset}},
		} {
			a := arrival{conn: c, raw: c, sock: readyreader.NewSocket(c)}
			if err := a.hear(mem.DefaultBufferPool(), saysNothing); err != nil || !a.isDone() || a.v != v {
				t.Fatalf("%s: %v, done %t, %v", name, err, a.isDone(), a.v)
			}
			as := a.asHTTP
			if v == forGRPC {
				as = a.asGRPC
			}
			nc, err := as()
			if err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(nc); err != reset || string(got) != said {
				t.Errorf("%s: %q of %q, %v", name, got, said, err)
			}
		}
	}
}

// readyWords does so in a ReadOnReady of its own: see package experimental.
type readyWords struct{ lastWords }

func (r *readyWords) Read(p []byte) (int, error) { return r.lastWords.Read(p) }

func (r *readyWords) ReadOnReady(size int, pool mem.BufferPool) (*[]byte, int, error) {
	buf := pool.Get(size)
	n, err := r.Read((*buf)[:size])
	return buf, n, err
}

// lending counts the buffers that are lent.
type lending struct {
	mem.BufferPool
	lent atomic.Int64
}

func (l *lending) Get(n int) *[]byte {
	l.lent.Add(1)
	return l.BufferPool.Get(n)
}

func (l *lending) Put(b *[]byte) {
	l.lent.Add(-1)
	l.BufferPool.Put(b)
}

// TestHearsLastWords: what came together with an error is heard.
func TestHearsLastWords(t *testing.T) {
	const request = "GET / HTTP/1.0\r\n\r\n"
	for said, want := range map[string]error{request: nil, "PRI * HT": io.EOF} {
		for name, c := range map[string]net.Conn{
			"Read":        &lastWords{said: said},
			"ReadOnReady": &readyWords{lastWords{said: said}},
		} {
			a, pool := arrival{conn: c, sock: readyreader.NewSocket(c)}, lending{BufferPool: mem.DefaultBufferPool()}
			err := a.hear(&pool, saysNothing)
			if err == nil && !a.isDone() {
				err = a.hear(&pool, saysNothing)
			}
			if err != want || string(a.seen) != said || a.isDone() != (want == nil) {
				t.Errorf("%s: heard %q of %q, %v; done %t", name, a.seen, said, err, a.isDone())
			}
			if n := pool.lent.Load(); n != 0 {
				t.Errorf("%s: %d buffers are held", name, n)
			}
		}
	}
}
