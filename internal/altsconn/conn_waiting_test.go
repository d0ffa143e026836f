// SPDX-License-Identifier: Apache-2.0

package altsconn

import (
	"net"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/mem"
)

// entryConn tells when a Read begins, if that is asked for. It is no exact socket.
type entryConn struct {
	net.Conn
	ask     atomic.Bool
	entered chan struct{}
}

func (c *entryConn) Read(p []byte) (int, error) {
	if c.ask.Swap(false) {
		close(c.entered)
	}
	return c.Conn.Read(p)
}

// putPool tells of the next Put, if that is asked for.
type putPool struct {
	mem.BufferPool
	ask atomic.Bool
	put chan struct{}
}

func (p *putPool) Put(b *[]byte) {
	p.BufferPool.Put(b)
	if p.ask.Swap(false) {
		close(p.put)
	}
}

// After a record of the largest size the next read waits with no buffer on a socket,
// and with a small one where reading needs it.
func TestWaitAfterLargeRecord(t *testing.T) {
	for network, limit := range map[string]int64{"tcp": 0, "unix": 0, "pipe": 2 * maxBlind} {
		t.Run(network, func(t *testing.T) {
			if limit == 0 {
				needsTry(t)
			}
			counted := newPool(t)
			pool := &putPool{BufferPool: counted, put: make(chan struct{})}
			waiting := pool.put // an attempt gives back its buffer before it waits
			ask := &pool.ask
			raw, peer := rawPair(t, network)
			if network == "pipe" {
				ec := &entryConn{Conn: raw, entered: make(chan struct{})}
				raw, waiting, ask = ec, ec.entered, &ec.ask
			}
			c := wrap(t, raw, Config{Side: Client, Pool: pool, MaxRecord: MaxRecord})
			s := wrap(t, peer, Config{Side: Server, MaxRecord: MaxRecord})
			msg := random(MaxRecord - overhead)
			for range 3 {
				go s.Write(msg)
				wantRead(t, c, msg)
			}
			ask.Store(true)
			done := make(chan struct{})
			go func() {
				defer close(done)
				c.Read(make([]byte, 1))
			}()
			<-waiting
			if st := counted.Stats(); st.Bytes > limit || limit == 0 && st.Buffers > 0 {
				t.Errorf("%d buffers of %d bytes are out while a read waits", st.Buffers, st.Bytes)
			}
			c.Close()
			<-done
		})
	}
}
