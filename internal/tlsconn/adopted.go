// SPDX-License-Identifier: Apache-2.0

//go:build !grpcnotlsrelease

package tlsconn

import (
	"crypto/tls"
	"net"
	"sync"
	"sync/atomic"
	"syscall"

	"google.golang.org/grpc/internal/readyreader"
)

// duplex is what an adopted connection needs of its socket.
type duplex interface {
	socket
	readyreader.Writer
}

// adopted is a tls.Conn of the program's. Since that runs over the socket itself, and the program
// may go on to use it, in particular to close it, it stays as it is, and there are moments at
// which crypto/tls reads and writes the socket; but these are few:
//
//   - Reading: ciphertext is read when the socket is ready, into a pooled buffer, which crypto/tls
//     is lent (see feed), and it is asked when that has a record. Whether this has data is in its
//     cipher: if not, crypto/tls reads on, and waits, as a deadline or Close may interrupt.
//     After data it is not asked for another record in the same read.
//   - Writing: records are gathered as crypto/tls gathers them during a handshake (see
//     sending), and leave in one system call. While some wait for room whatever else
//     crypto/tls has to say is behind them.
//
// Its locks are mu and send, then those of crypto/tls. Nobody waits for one of these, nor for mu,
// to close the connection.
type adopted struct {
	net.Conn // what was handed over
	tls      *tls.Conn
	sock     duplex

	state  atomic.Uint32
	closed atomic.Bool

	mu sync.Mutex
	// Guarded by mu, which the reader holds except while it waits on the socket.
	in       *readyreader.Stock // nil: there was no input since the connection was left alone
	rerr     error              // final. With io.EOF crypto/tls is asked, as that has its rules for the end.
	retained readyreader.Retained

	send sync.Mutex // held by who writes
	// Guarded by the lock of crypto/tls's that a sending has.
	p    *[]byte // the lent buffer that the gathered records are in
	werr error   // final
}

// What an adopted connection's state is.
const (
	unshaken  uint32 = iota // tls.Conn's fields may be in use by whoever reads or writes first
	promising               // the same, and it is known how records can be gathered
	shaken                  // the handshake is over
	gathering               // and records can be gathered
	flushing                // and they are, while somebody waits for room
)

// shake runs the handshake, or waits for it.
func (a *adopted) shake() error {
	before := a.state.Load()
	if before >= shaken {
		return nil
	}
	if err := a.tls.Handshake(); err != nil {
		return err
	}
	after := shaken
	if before == promising && !renegotiates(a.tls) {
		after = gathering
	}
	a.state.CompareAndSwap(before, after) // or another has done so
	return nil
}

// RawConn implements readyreader.TryReader.
func (a *adopted) RawConn() syscall.RawConn { return a.sock.RawConn() }
