// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"sync"
	"time"

	"google.golang.org/grpc/internal/clock"
	"google.golang.org/grpc/internal/park"
	"google.golang.org/grpc/internal/readyreader"
	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/internal/transport/h2/hpack"
	"google.golang.org/grpc/internal/warm"
)

// input is the reader's own part of the connection. What the reader writes for each frame
// is in act, and so not on a cache line that others read.
type input struct {
	act     *active      // what only a connection with input needs
	reading hpack.Frozen // while act is nil: the decoder's state,
	lasting lasting      // and what else must last; fields that streams hold are in the streamSet

	gotPreface bool // the peer's first SETTINGS arrived
	parks      bool // the connection can be parked: act's rd is a Pollable
	swept      bool // the sweeper watches the connection
	holds      bool // a layer of the connection may hold on to bytes
}

// active is what a connection needs while there is input: it is taken from a
// pool when input comes, and given back when the connection parks.
type active struct {
	lasting
	rd      readyreader.Buffered
	dec     hpack.Decoder
	entry   park.Entry    // in the process's sweeper
	wake    chan struct{} // what the reader waits on in waitForBudget
	headers HeaderBlock
	memos   memos
	frags   fragments
	large   pile // a frame that may not fit the read buffer
	ledger  ledger
	next    warm.Task // what the reader's goroutine is to run once it has parked; see launch
	lending lending
	failed  error     // what a Turn ended with; nil: nothing
	credit  int       // bytes that may be reserved for the DATA frame at hand before they arrive
	now     time.Time // when the batch began

	woken  bool // the reader has just started, and not read yet
	batch  bool // frames were read since the last BatchEnd
	caused bool // something was queued for the peer's sake
	broke  bool // more than twice the bound is held, or was a moment ago
}

// lasting is what of active is kept while a connection is parked.
type lasting struct {
	nonsense nonsense
	opened   uint32 // how many ids were used up when late was last called
}

// littleRead is how much is read at first of a connection that was parked: most of these have a
// small call, and many may have it at the same time.
const littleRead = 4 << 10

// actives are apart for clients and servers: a decoder that is next used with the same table need
// not thaw it, and its memos are good.
var actives [2]sync.Pool

// activate gets ready to read nc, as side. kept is what the decoder's Keep returned when it was
// frozen.
func (in *input) activate(nc *wire, side Side, cfg *Config, kept hpack.Kept) {
	a, _ := actives[side].Get().(*active)
	if a == nil {
		a = new(active)
	}
	a.lasting = in.lasting
	a.memos.serve(cfg)
	// A layer such as the program's own TLS may begin with a handshake, which is not for a
	// read that does not wait.
	a.woken = in.gotPreface
	opts := readOptions(nc, cfg)
	opts.Reuse = a.rd
	if a.woken {
		opts.First = littleRead
	}
	a.rd = readyreader.New(nc.nc, opts)
	if in.reading.IsNew() {
		a.dec.Reset(cfg.Kinds)
	} else {
		a.dec.Thaw(in.reading, cfg.Kinds)
		a.dec.Restore(kept)
	}
	in.act = a
}

// freeze keeps of act what must last.
func (in *input) freeze() {
	in.reading = in.act.dec.Freeze()
	in.lasting = in.act.lasting
}

// release gives act back, without what grew large.
func (in *input) release(side Side, cfg *Config) {
	a := in.act
	in.act = nil
	if in.swept {
		in.swept = false
		cfg.Ground.Sweeper().Remove(&a.entry)
	}
	a.rd = readyreader.Recycle(a.rd)
	if a.dec.Cap() > maxPooledTable {
		a.dec = hpack.Decoder{}
	}
	a.dec.Rest()
	a.headers.list.Reset(0)
	a.headers.trim()
	a.headers.forget()
	a.ledger = ledger{}
	a.broke = false
	a.frags.drop(cfg.Pool) // a connection may end in the middle of a field block
	a.frags.charged = 0
	a.batch, a.caused = false, false
	a.failed = nil
	a.lending.rest()
	a.wake = nil // a channel may belong to a synctest bubble
	a.memos.part()
	if !a.headers.partial {
		actives[side].Put(a)
	}
}

func readOptions(nc *wire, cfg *Config) readyreader.Options {
	return readyreader.Options{
		Pool:   cfg.Pool,
		Size:   max(cfg.ReadBuffer, frame.HeaderLen+frame.MinMaxFrameSize),
		Pooled: cfg.Pooled,
		Writer: nc.try,
	}
}

// atBoundary reports whether the reader stands between two frames, with nothing in hand
// that it could not give back. Within a frame the sweeper is not asked to watch: it could
// only wake the reader again and again, for as long as the peer does not send the rest.
func (in *input) atBoundary() bool {
	return in.act.rd.Buffered() == 0 && in.gotPreface && in.act.frags.id == 0
}

// useless records a frame that served nothing; an error ends the connection.
func (a *active) useless() error {
	return a.nonsense.useless(time.Duration(clock.At(a.now)))
}

// walked records that a frame had us walk over so many streams.
func (a *active) walked(streams int) { a.nonsense.walked(streams, time.Duration(clock.At(a.now))) }

// decode reads a whole field block into headers.
func (a *active) decode(block []byte, cfg *Config) error {
	b := &a.headers
	gen := a.dec.Generation()
	if s := a.memos.find(block, gen); s != nil {
		b.list.Reset(0)
		b.forget()
		b.memo, b.held, b.note = s.memo, s.shared, s.note
		if b.Foreign() {
			b.slot = s
		}
		return nil
	}
	if err := a.decodeParts(cfg, func() error { return a.dec.Decode(block, &b.list) }); err != nil {
		return err
	}
	if a.dec.Generation() == gen && len(block) <= memoMaxSize && !b.list.TooLarge() {
		b.memos = &a.memos
		b.slot, a.ledger.lost = a.memos.claim(block, gen)
	}
	return nil
}

// decodeFragments is decode for a block that came in several frames. Where it lies in
// several buffers each is given back as soon as it is decoded, and the list grows only once.
func (a *active) decodeFragments(cfg *Config) error {
	f := &a.frags
	if len(f.parts) <= 1 {
		return a.decode(f.join(cfg.Pool), cfg)
	}
	d := partDecoder{dec: &a.dec, list: &a.headers.list, pool: cfg.Pool, left: f.size}
	defer d.close()
	return a.decodeParts(cfg, func() error {
		for f.size > 0 {
			part := f.shift()
			err := d.add(*part)
			cfg.Pool.Put(part)
			if err != nil {
				return err
			}
			d.reserve()
		}
		return nil
	})
}

// decodeParts has the decoder read a block into headers, by calls of decode. After a panic the
// decoder is of no further use, and the connection ends.
func (a *active) decodeParts(cfg *Config, decode func() error) (err error) {
	a.headers.forget()
	a.headers.list.Reset(cfg.maxHeaderList())
	a.headers.partial = true
	defer Contain(&err, cfg.Panics)
	err = decode()
	a.headers.partial = false
	if err != nil {
		return undecodable(err)
	}
	return nil
}

// undecodable makes an error of the HPACK decoder one of the connection.
func undecodable(err error) error {
	// "A decoding error in a field block MUST be treated as a connection
	// error of type COMPRESSION_ERROR", section 4.3.
	return frame.ConnError(frame.CompressionError, err.Error())
}
