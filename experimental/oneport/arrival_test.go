// SPDX-License-Identifier: Apache-2.0

package oneport

import (
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
			a, pool := arrival{conn: c}, lending{BufferPool: mem.DefaultBufferPool()}
			sock := readyreader.NewSocket(c)
			err := a.hear(sock, &pool)
			if err == nil && !a.isDone() {
				err = a.hear(sock, &pool)
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
