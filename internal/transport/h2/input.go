// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"sync"

	"google.golang.org/grpc/internal/park"
	"google.golang.org/grpc/internal/readyreader"
	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/internal/transport/h2/hpack"
	"google.golang.org/grpc/internal/transport/h2/protocol"
	"google.golang.org/grpc/internal/warm"
)

// input is the reader's own part of the connection. What the reader writes for each frame
// is in act, and so not on a cache line that others read.
type input struct {
	act     *active          // what only a connection with input needs
	reading hpack.Frozen     // while act is nil: the decoder's state,
	lasting protocol.Lasting // and what else must last; fields that streams hold are in the streamSet

	predictor idlePredictor
	parks     bool                // the connection can be parked, or rest
	swept     bool                // the sweeper watches the connection
	can       readyreader.Ability // of the wire, see abilities; immutable, and so for all
}

// writesWait reports whether each write has to wait, as nobody knows what it does.
func (in *input) writesWait() bool { return !in.can.Has(readyreader.TriesWrites) }

// active is what a connection needs while there is input: it is taken from a
// pool when input comes, and given back when the connection parks.
type active struct {
	protocol.Intake
	rd      readyreader.Buffered
	entry   park.Entry    // in the process's sweeper
	wake    chan struct{} // what the reader waits on in waitForBudget
	next    warm.Task     // what the reader's goroutine is to run once it has parked; see launch
	lending lending
	failed  error // what an InlineReader ended with; nil: nothing

	behind   int          // how many bytes are buffered behind the frame at hand,
	follower frame.Header // and, if that has HEADERS, the header of what is first among them
	counted  counted

	batch    bool // frames were read since the last BatchEnd
	skipsEnd bool // the end of the batch takes no lock: since the reader last had mu there is nothing to do there; see checkEnd
}

// littleRead is how much is read at first of a connection that was parked: most of these have a
// small call, and many may have it at the same time.
const littleRead = 4 << 10

// actives has a pool for each side: connections of one side often have the same HPACK table, so that a decoder
// from the pool need not thaw it, and its memos can be used.
var actives [2]sync.Pool

// activate gets ready to read nc, as side. kept is what the decoder's Keep returned when it was
// frozen, begun whether the peer's first SETTINGS arrived.
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

// freeze keeps of act what must last.
func (in *input) freeze() {
	in.lasting, in.reading = in.act.Intake.Freeze()
}

// release gives act back, without what grew large.
func (in *input) release(side protocol.Side, cfg *protocol.Config) {
	a := in.act
	in.act = nil
	if in.swept {
		in.swept = false
		ground(cfg).Sweeper().Remove(&a.entry)
	}
	a.rd = readyreader.Recycle(a.rd)
	reusable := a.Release(cfg.Pool)
	a.batch, a.skipsEnd = false, false
	a.counted = counted{}
	a.failed = nil
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
