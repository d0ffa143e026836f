// SPDX-License-Identifier: Apache-2.0

// Package bufconn is a network inside one process: a [net.Listener] each of whose
// connections is two buffers in memory. It is for tests that want a client and a server
// without a port:
//
//	lis := bufconn.Listen(64 << 10)
//	go server.Serve(lis)
//	cc, err := grpc.NewClient("passthrough:///bufconn",
//		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
//			return lis.DialContext(ctx)
//		}),
//		grpc.WithTransportCredentials(insecure.NewCredentials()))
//
// Connections behave as sockets do: they buffer what is written, writes wait while the
// buffer is full, and deadlines apply. They have no goroutines and wait only on condition
// variables and timers, so they work within testing/synctest.
package bufconn

import (
	"context"
	"net"
	"sync"
)

// Listener accepts the connections that its own methods Dial and DialContext make. Its
// methods are safe for concurrent use.
type Listener struct {
	size   int
	offers chan net.Conn // unbuffered, so that Dial waits for Accept
	closed chan struct{}
	close  sync.Once
}

// Listen returns a listener whose connections buffer up to sz bytes in each direction. A
// sz below 1 means 1. Memory is allocated as it is needed.
func Listen(sz int) *Listener {
	return &Listener{
		size:   max(sz, 1),
		offers: make(chan net.Conn),
		closed: make(chan struct{}),
	}
}

// Accept waits for a Dial and returns the server's end of the connection. After Close
// it fails with an error that is [net.ErrClosed].
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case <-l.closed:
		return nil, errClosed
	case c := <-l.offers:
		return c, nil
	}
}

// Close makes all current and later calls of Accept and Dial fail. Connections stay open.
// It returns nil.
func (l *Listener) Close() error {
	l.close.Do(func() { close(l.closed) })
	return nil
}

// Addr returns an address whose network and text are both "bufconn".
func (l *Listener) Addr() net.Addr { return addr{} }

// Dial is DialContext without a context.
func (l *Listener) Dial() (net.Conn, error) {
	return l.DialContext(context.Background())
}

// DialContext waits for an Accept and returns the client's end of the connection. It
// fails with the context's error if ctx ends first, and with an error that is
// [net.ErrClosed] if the listener is closed.
func (l *Listener) DialContext(ctx context.Context) (net.Conn, error) {
	client, server := newPair(l.size)
	select {
	case <-l.closed: // checked first: the select below could choose an Accept instead
		return nil, errClosed
	default:
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-l.closed:
		return nil, errClosed
	case l.offers <- server:
		return client, nil
	}
}

// closedError is net.ErrClosed with the text that tests look for.
type closedError struct{}

func (closedError) Error() string { return "closed" }
func (closedError) Unwrap() error { return net.ErrClosed }

var errClosed error = closedError{}
