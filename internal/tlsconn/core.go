// SPDX-License-Identifier: Apache-2.0

package tlsconn

import (
	"crypto/tls"
	"net"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/internal/readyreader"
)

// Conn is a TLS connection. It is a net.Conn and a readyreader.Layer. One goroutine reads and one writes at
// a time; any goroutine may set deadlines and call Close.
type Conn struct {
	// Immutable once the handshake is over.
	tls     *tls.Conn
	raw     net.Conn
	sock    readyreader.Layer // of raw
	release bool              // tls.Conn reads from our buffers: see package tlsbuf
	rests   bool              // ciphers are put to rest: see package keyrest
	closed  bool              // guarded by rmu; it stands here to fill a gap in the struct
	open    atomic.Bool       // the handshake is over; from here on tls.Conn never waits

	rmu sync.Mutex
	// Guarded by rmu, which the reader holds except while it waits.
	intake   intake
	rerr     error // final
	retained readyreader.Retained

	out outbox
}

// dropIntake forgets the ciphertext in hand.
func (c *Conn) dropIntake() {
	c.intake.Drop()
	c.intake.dry = false
	c.retained.Set(0)
}
