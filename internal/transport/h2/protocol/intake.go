// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"time"

	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/internal/transport/h2/hpack"
	"google.golang.org/grpc/mem"
)

// Intake is what the reader of a connection needs while frames arrive. It needs no lock. Once it was
// released it can be used for another connection.
type Intake struct {
	Lasting
	dec       hpack.Decoder
	headers   HeaderBlock
	memos     memos
	frags     fragments
	large     pile // the parts so far of a long frame
	ledger    ledger
	credit    int           // bytes that may be reserved for the DATA frame at hand before they arrive
	Now       time.Duration // when the current frames arrived, by the driver's clock
	Induced   bool          // output was queued that the peer caused
	OverLimit bool          // more than twice the bound is held, or was a moment ago
}

// Lasting is the part of an Intake that is kept while its connection is parked.
type Lasting struct {
	flood floodBudget
	// paid is used by Late. On a client it is how many stream ids were used up at the last call of
	// Late. On a server it is how many frames for streams that are over are free, because of the
	// streams opened since that call. A server does not count the peer's stream ids, because a peer can
	// skip as many of them as it likes.
	paid uint32
}

// allowLate makes the next n frames for streams that are over cost nothing. Only servers use it.
func (in *Intake) allowLate(n uint32) { in.paid = min(in.paid+n, FloodLimit+floodCredit) }

// Begin prepares an Intake for a connection that is new, or that was parked. last, state and kept are
// what Freeze and Keep returned when it was parked.
func (in *Intake) Begin(cfg *Config, last Lasting, state hpack.Frozen, kept hpack.Kept) {
	in.Lasting = last
	in.memos.serve(cfg)
	if state.IsNew() {
		in.dec.Reset(cfg.Kinds)
		return
	}
	in.dec.Thaw(state, cfg.Kinds)
	in.dec.Restore(kept)
}

// Freeze returns what must last while the connection is parked.
func (in *Intake) Freeze() (Lasting, hpack.Frozen) { return in.Lasting, in.dec.Freeze() }

// Release drops memory that grew large, and everything that belongs to the connection. It reports
// whether another connection may use the Intake.
func (in *Intake) Release(pool mem.BufferPool) (reusable bool) {
	if in.dec.Cap() > maxPooledTable {
		in.dec = hpack.Decoder{}
	}
	in.dec.Rest()
	in.headers.list.Reset(0)
	in.headers.trim()
	in.headers.forget()
	in.ledger = ledger{}
	in.OverLimit = false
	in.frags.drop(pool) // a connection may end in the middle of a field block
	in.frags.charged = 0
	in.Induced = false
	in.memos.part()
	return !in.headers.partial
}

// InsideBlock reports whether a field block has begun and not ended.
func (in *Intake) InsideBlock() bool { return in.frags.id != 0 }

// Useless records a frame that did nothing useful. It returns an error, which ends the connection,
// after too many of them.
func (in *Intake) Useless() error { return in.flood.useless(in.Now) }

// Useful records a frame that opened, fed or ended a stream.
func (in *Intake) Useful() { in.flood.useful() }

// PayRefusal makes up for the refusal of a stream, which counts as useless, when the peer could not know
// that it would be refused. It pays for no other frame.
func (in *Intake) PayRefusal() { in.flood.earn(1) }

// Keep returns the fields that streams hold, for Begin. What Freeze returns does not include them.
func (in *Intake) Keep() hpack.Kept { return in.dec.Keep() }

// Ahead returns how many bytes may be reserved for the current DATA frame before they arrive.
func (in *Intake) Ahead() int { return in.credit }

// Block returns the field block that was decoded last.
func (in *Intake) Block() *HeaderBlock { return &in.headers }

// DropBlock gives memory of the block back, if it is large.
func (in *Intake) DropBlock() { in.headers.trim() }

// Gather adds p to a frame that is too long for a read buffer.
func (in *Intake) Gather(p []byte, pool mem.BufferPool) {
	in.large.add(p, pool)
	in.ledger.note(&in.large)
}

// Gathered returns the bytes that Gather was given. They are valid until DropGathered.
func (in *Intake) Gathered(pool mem.BufferPool) []byte { return in.large.join(pool) }

// DropGathered gives the memory of the gathered bytes back.
func (in *Intake) DropGathered(pool mem.BufferPool) {
	in.large.drop(pool)
	in.ledger.note(&in.large)
}

// CheckSequence applies the rules about which frame may come next. first means that no frame has come
// before.
func (in *Intake) CheckSequence(h frame.Header, first bool) error {
	if first && (h.Type != frame.Settings || h.Flags.Has(frame.FlagAck)) {
		if h.LooksLikeHTTP1() {
			return frame.ConnError(frame.ProtocolError, "failed reading the frame payload: http2: frame too large, note that the frame header looked like an HTTP/1.1 header")
		}
		return frame.ConnError(frame.ProtocolError, "the first frame is not SETTINGS")
	}
	open := in.frags.id
	// "Any number of CONTINUATION frames can be sent, as long as the preceding
	// frame is on the same stream", section 6.10; and nothing in between.
	if (open != 0 || h.Type == frame.Continuation) && (h.Type != frame.Continuation || h.StreamID != open) {
		return frame.ConnError(frame.ProtocolError, "field block and CONTINUATION do not follow each other")
	}
	return nil
}

// decode reads a whole field block into headers.
func (in *Intake) decode(block []byte, cfg *Config) error {
	b := &in.headers
	b.coded = uint32(len(block))
	gen := in.dec.Generation()
	if s := in.memos.find(block, gen); s != nil {
		b.list.Reset(0)
		b.forget()
		b.memo, b.held, b.note = s.memo, s.shared, s.note
		if b.Foreign() {
			b.slot = s
		}
		return nil
	}
	if err := in.decodeParts(cfg, func() error { return in.dec.Decode(block, &b.list) }); err != nil {
		return err
	}
	if in.dec.Generation() == gen && len(block) <= memoMaxSize && !b.list.TooLarge() {
		b.memos = &in.memos
		b.slot, in.ledger.lost = in.memos.claim(block, gen)
	}
	return nil
}

// decodeFragments is decode for a block that came in several frames. If the block is in several
// buffers, each buffer is given back as soon as it is decoded, and the list grows only once.
func (in *Intake) decodeFragments(cfg *Config) error {
	f := &in.frags
	if len(f.parts) <= 1 {
		return in.decode(f.join(cfg.Pool), cfg)
	}
	in.headers.coded = uint32(f.size)
	d := partDecoder{dec: &in.dec, list: &in.headers.list, pool: cfg.Pool, left: f.size}
	defer d.close()
	return in.decodeParts(cfg, func() error {
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

// decodeParts calls decode, which has the decoder read a block into headers. After a panic the decoder
// must not be used again, and the connection ends.
func (in *Intake) decodeParts(cfg *Config, decode func() error) (err error) {
	in.headers.forget()
	in.headers.list.Reset(cfg.maxHeaderList())
	in.headers.partial = true
	defer Contain(&err, cfg.Panics)
	err = decode()
	in.headers.partial = false
	if err != nil {
		return undecodable(err)
	}
	return nil
}

// undecodable turns an error of the HPACK decoder into a connection error.
func undecodable(err error) error {
	// "A decoding error in a field block MUST be treated as a connection
	// error of type COMPRESSION_ERROR", section 4.3.
	return frame.ConnError(frame.CompressionError, err.Error())
}
