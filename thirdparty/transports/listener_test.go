// SPDX-License-Identifier: Apache-2.0

package transports

import (
	"net"
	"sync"
	"testing"
)

// queue is a listener of connections that come by another way than Accept.
type queue struct {
	addr   net.Addr
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newQueue(t *testing.T, addr net.Addr) *queue {
	q := &queue{addr: addr, conns: make(chan net.Conn), closed: make(chan struct{})}
	t.Cleanup(func() { q.Close() })
	return q
}

// put returns when the connection was accepted, or closes it.
func (q *queue) put(conn net.Conn) {
	select {
	case q.conns <- conn:
	case <-q.closed:
		conn.Close()
	}
}

func (q *queue) Accept() (net.Conn, error) {
	select {
	case conn := <-q.conns:
		return conn, nil
	case <-q.closed:
		return nil, net.ErrClosed
	}
}

func (q *queue) Close() error {
	q.once.Do(func() { close(q.closed) })
	return nil
}

func (q *queue) Addr() net.Addr { return q.addr }
