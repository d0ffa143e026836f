// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"sync"
	"unique"

	"google.golang.org/grpc/internal/transport/h2/hpack"
)

// HPACK state outlives the calls it serves. While a connection is idle only a
// frozen form of it is kept, which connections with equal tables share: as a
// rule those of all clients that run the same program.

// frozen is the HPACK state of one direction; the zero value that of a new
// connection.
type frozen struct{ state unique.Handle[string] }

func (f frozen) fresh() bool { return f == frozen{} }

func freeze(state []byte) frozen { return frozen{unique.Make(string(state))} }

// maxPooledTable is how much memory a table may hold, in bytes, that is kept for
// another connection.
const maxPooledTable = 16 << 10

// coder is what encodes the header blocks of a connection that sends any.
// Guarded by Conn.mu.
type coder struct {
	enc  hpack.Encoder
	seen seenFields
}

var coders = sync.Pool{New: func() any { return new(coder) }}

// encoder returns the coder, taking it out of the ice if need be. mu is held.
func (c *Conn) encoder() *coder {
	if c.coder == nil {
		e := coders.Get().(*coder)
		if c.sending.fresh() {
			e.enc.Init(hpack.MaxEncoderTable)
		} else {
			e.enc.Thaw(c.sending.state.Value())
		}
		c.coder = e
	}
	return c.coder
}

// freezeEncoder keeps what the coder knows, and gives it back. mu is held.
func (c *Conn) freezeEncoder() {
	e := c.coder
	if e == nil {
		return
	}
	var scratch [512]byte
	c.sending = freeze(e.enc.Freeze(scratch[:0]))
	c.dropEncoder()
}

func (c *Conn) dropEncoder() {
	e := c.coder
	if e == nil {
		return
	}
	c.coder = nil
	if e.enc.Cap() <= maxPooledTable {
		e.seen = seenFields{}
		coders.Put(e)
	}
}

// freezeIfSlim is for what is sent while nobody reads: nobody else would.
// mu is held.
func (c *Conn) freezeIfSlim() {
	if c.slimmed {
		c.freezeEncoder()
	}
}

// thawDecoder readies the decoder of the reader.
func (c *Conn) thawDecoder() {
	if c.reading.fresh() {
		c.act.dec.Reset(c.cfg.Kinds)
		return
	}
	c.act.dec.Thaw(c.reading.state.Value(), c.cfg.Kinds)
	c.act.dec.Restore(c.kept)
	c.kept = nil
}

func (c *Conn) freezeDecoder() {
	var scratch [512]byte
	c.reading = freeze(c.act.dec.Freeze(scratch[:0]))
	if c.Streams() > 0 {
		c.kept = c.act.dec.Keep()
	}
}
