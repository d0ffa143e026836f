// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"sync"
	"time"

	"google.golang.org/grpc/internal/park"
	"google.golang.org/grpc/internal/readyreader"
	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/internal/transport/h2/hpack"
	"google.golang.org/grpc/internal/transport/h2/protocol"
	"google.golang.org/grpc/internal/warm"
)

// input is the part of the connection that belongs to the reader. What the reader writes for each frame
// is in act, so that it is not on a cache line that others read.
type input struct {
	act     *active          // what a connection needs only while it has input
	reading hpack.Frozen     // while act is nil: the HPACK decoder's state,
	lasting protocol.Lasting // and what else must be kept; fields that streams hold are in the streamSet

	predictor idlePredictor
	parks     parking             // whether the connection can be parked, or can rest
	swept     bool                // the sweeper watches the connection
	can       readyreader.Ability // abilities of the wire; immutable, so any goroutine may read it
}

// parking says whether a connection is parked when it is quiet.
type parking uint8

const (
	never   parking = iota
	refused         // not yet: the system has refused to watch the socket, the last time it was asked
	parks
)

// writesWait reports whether each write may wait, because the Layer can't write without waiting.
func (in *input) writesWait() bool { return !in.can.Has(readyreader.TriesWrites) }

// active is what a connection needs while it has input. It comes from a pool when input comes, and goes
// back when the connection parks.
type active struct {
	protocol.Intake
	rd      readyreader.Buffered
	entry   park.Entry    // its place in the sweeper
	wake    chan struct{} // the reader waits for it in waitForBudget
	next    warm.Task     // a task for the reader's goroutine after it has parked; see launch
	lending lending
	retryAt time.Duration // when to ask the system again to watch the socket, if it has refused
	failed  error         // the error that ended an InlineReader; nil: none

	behind   int          // how many bytes are buffered behind the current frame,
	follower frame.Header // and, if the current frame is HEADERS, the header of the next frame
	counted  counted

	batch    bool // frames were read since the last BatchEnd
	skipsEnd bool // the end of the batch needs no lock, as it has nothing to do; see checkEnd
}

// littleRead is how many bytes the first read of a connection takes after it was parked. Most such
// connections have a small call, and many may have one at the same time.
const littleRead = 4 << 10

// actives has a pool for each side. Connections of one side often have the same HPACK table. Then a
// decoder from the pool need not be thawed, and its memos can be used.
var actives [2]sync.Pool

// activate gets ready to read nc, as side. kept is what the decoder's Keep returned when it was frozen.
// begun says whether the peer's first SETTINGS have arrived.
func (in *input) activate(nc *wire, side protocol.Side, cfg *protocol.Config, kept hpack.Kept, begun bool) {
	a, _ := actives[side].Get().(*active)
	if a == nil {
		a = new(active)
	}
	a.Begin(cfg, in.lasting, in.reading, kept)
	opts := readOptions(cfg)
	opts.Reuse = a.rd
	if begun {
		opts.First = littleRead
	}
	a.rd = readyreader.New(nc.Socket, opts)
	in.act = a
}

// freeze stores what must be kept of act while the connection is parked.
func (in *input) freeze() {
	in.lasting, in.reading = in.act.Intake.Freeze()
}

// sweeper returns the sweeper that watches the connection, if one does.
func (in *input) sweeper(g *park.Ground) *park.Sweeper {
	if in.parks == refused {
		return g.RetrySweeper()
	}
	return g.Sweeper()
}

func (r *reader) sweeper() *park.Sweeper { return r.in.sweeper(r.ground()) }

// release gives act back to its pool, without the parts that grew large.
func (in *input) release(side protocol.Side, cfg *protocol.Config) {
	a := in.act
	in.act = nil
	if in.swept {
		in.swept = false
		in.sweeper(ground(cfg)).Remove(&a.entry)
	}
	a.rd = readyreader.Recycle(a.rd)
	reusable := a.Release(cfg.Pool)
	a.batch, a.skipsEnd = false, false
	a.counted = counted{}
	a.failed = nil
	a.retryAt = 0
	a.lending.reset()
	a.wake = nil // a channel may belong to a synctest bubble
	if reusable {
		actives[side].Put(a)
	}
}

func readOptions(cfg *protocol.Config) readyreader.Options {
	return readyreader.Options{
		Pool:   cfg.Pool,
		Size:   max(cfg.ReadBuffer, frame.HeaderLen+frame.MinMaxFrameSize),
		Pooled: cfg.Pooled,
	}
}
