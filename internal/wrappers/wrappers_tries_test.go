// SPDX-License-Identifier: Apache-2.0

package wrappers

import (
	"bytes"
	"net"
	"syscall"

	"google.golang.org/grpc/internal/readyreader"
	"google.golang.org/grpc/mem"
)

// allKinds are Kinds and one that needs package readyreader, the tests of which need Kinds.
func allKinds() []Kind {
	return append(Kinds(), Kind{Name: "tries, and holds some", Server: newTries, Client: newTries, WhyNotTLS: "is no socket"})
}

// tries implements TryReader of package experimental. It returns little at once, and holds the rest.
type tries struct {
	plain
	sock readyreader.Layer
	held bytes.Buffer // owned by the reader
}

func newTries(c net.Conn) net.Conn {
	s := readyreader.NewSocket(c)
	if !s.Can().Has(readyreader.ReadsReady | readyreader.TriesReads) {
		return &waits{plain{c}}
	}
	return &tries{plain: plain{c}, sock: s.Layer}
}

func (t *tries) Read(p []byte) (int, error) {
	if t.held.Len() > 0 {
		return t.held.Read(p)
	}
	return t.c.Read(p)
}

func (t *tries) ReadOnReady(size int, pool mem.BufferPool) (*[]byte, int, error) {
	return t.lend(t.sock.ReadOnReady, size, pool)
}

func (t *tries) TryRead(size int, pool mem.BufferPool) (*[]byte, int, error) {
	return t.lend(t.sock.TryRead, size, pool)
}

func (t *tries) RawConn() syscall.RawConn { return t.sock.RawConn() }

func (t *tries) lend(read func(int, mem.BufferPool) (*[]byte, int, error), size int, pool mem.BufferPool) (*[]byte, int, error) {
	if t.held.Len() == 0 {
		own := mem.DefaultBufferPool()
		buf, n, err := read(4<<10, own)
		if err != nil {
			return nil, 0, err
		}
		t.held.Write((*buf)[:n])
		own.Put(buf)
	}
	buf := pool.Get(size)
	n, err := t.held.Read((*buf)[:min(len(*buf), size, 1000)])
	return buf, n, err
}
