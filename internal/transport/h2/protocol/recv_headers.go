// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"errors"

	"google.golang.org/grpc/internal/transport/h2/frame"
)

// Block describes a field block that was decoded. Its fields are in Intake.Block.
type Block struct {
	ID   uint32
	End  bool
	Void error // a stream error of its frames; the block was decoded nevertheless, to update the HPACK table
}

// OnHeaders handles a HEADERS frame. whole reports whether its block is complete.
func (in *Intake) OnHeaders(h frame.Header, p []byte, cfg *Config) (b Block, whole bool, err error) {
	if h.IsFieldBlock() {
		err := in.decode(p, cfg)
		return Block{ID: h.StreamID, End: h.Flags.Has(frame.FlagEndStream)}, err == nil, err
	}
	f, fault := frame.ParseHeaders(h, p)
	if fault != nil && !IsStreamError(fault) {
		return Block{}, false, fault
	}
	if f.EndHeaders {
		if err := in.decode(f.Fragment, cfg); err != nil {
			return Block{}, false, err
		}
		return Block{ID: h.StreamID, End: f.EndStream, Void: fault}, true, nil
	}
	in.frags.begin(h.StreamID, f.EndStream, fault)
	return Block{}, false, in.addFragment(f.Fragment, cfg)
}

// OnContinuation handles a CONTINUATION frame. Once the block is complete and was dealt with, the
// caller calls EndBlock, also after an error.
func (in *Intake) OnContinuation(h frame.Header, p []byte, cfg *Config) (b Block, whole bool, err error) {
	f, err := frame.ParseContinuation(h, p)
	if err != nil {
		return Block{}, false, err
	}
	if err := in.addFragment(f.Fragment, cfg); err != nil || !f.EndHeaders {
		return Block{}, false, err
	}
	err = in.decodeFragments(cfg)
	return Block{ID: in.frags.id, End: in.frags.end, Void: in.frags.void}, true, err
}

// EndBlock gives back the memory of a block that came in several frames.
func (in *Intake) EndBlock(cfg *Config) {
	in.frags.drop(cfg.Pool)
	in.ledger.note(&in.frags.pile)
}

func (in *Intake) addFragment(p []byte, cfg *Config) error {
	err := in.frags.add(p, cfg.maxHeaderList(), cfg.Pool)
	in.ledger.note(&in.frags.pile)
	return err
}

// BlockVerdict says what to do with a field block.
type BlockVerdict uint8

// The verdicts.
const (
	BlockIgnored  BlockVerdict = iota // it is for a stream that is over
	BlockIsMore                       // it is for a stream that is open
	blockOpens                        // the peer opens a stream: the driver has no case of its own for it
	BlockMustWait                     // it does, but first the reader waits until less is queued, or fewer handlers run
)

// OnBlock says what to do with b. With BlockIsMore s is the stream of the block. After blockOpens and
// BlockMustWait the driver calls Accepted or Refused, also if err refuses the stream.
func (c *Conn) OnBlock(in *Intake, b Block) (s *Stream, verdict BlockVerdict, err error) {
	c.enter(in)
	if s = c.streams.get(b.ID); s != nil {
		if !s.state.canRecv() {
			return nil, BlockIgnored, frame.StreamError(b.ID, frame.StreamClosed, "HEADERS after END_STREAM")
		}
		if !b.End {
			s.on(recvHeaders)
		}
		return s, BlockIsMore, nil
	}
	if !c.streams.unopened(b.ID) {
		err := c.streams.checkUsed(b.ID)
		return nil, BlockIgnored, errors.Join(err, c.Late(in)) // in flight when we ended the stream
	}
	if err := c.streams.admit(b.ID); err != nil || c.life.takesNone() {
		c.streams.cutOff.grow(b.ID)
		return nil, BlockIgnored, err
	}
	c.life.admit() // a GOAWAY that is queued from here on names b.ID
	switch {
	case b.Void != nil:
		return nil, blockOpens, b.Void
	case c.streams.peer() >= c.out.cfg.maxStreams():
		return nil, blockOpens, frame.StreamError(b.ID, frame.RefusedStream, "too many concurrent streams")
	case c.account.limitState(c.out.cfg.maxHeld()) != withinLimit:
		in.PayRefusal()
		return nil, blockOpens, frame.StreamError(b.ID, frame.EnhanceYourCalm, "the connection holds more than its bound of what its peer sent")
	case c.OverBudget(true) || c.IsCrowded():
		return nil, BlockMustWait, nil
	}
	return nil, blockOpens, nil
}

// IsCrowded reports whether so many handlers run that the peer may open no more streams.
func (c *Conn) IsCrowded() bool { return c.streams.isCrowded(c.out.cfg.maxStreams()) }

// Refused ends the decision about a stream that was refused. The driver calls it once the answer to the
// peer is queued. Until then a connection that is draining does not go on with its end.
func (c *Conn) Refused(in *Intake) {
	c.life.decided()
	in.allowLate(1) // the end of its request may be on its way
	c.streams.cutOff.grow(c.streams.lastPeer)
	c.Finish()
}

// Accepted puts s, which the peer opened with b, into the table.
func (c *Conn) Accepted(in *Intake, s *Stream, b Block) {
	c.life.decided()
	in.allowLate(usefulEarns)
	c.streams.begin(s, b.ID, c.streams.side.other(), &c.windows)
	if b.End {
		s.on(recvEnd)
	} else {
		s.on(recvHeaders)
	}
	c.account.charge(s.held)
	c.account.share(s, in.headers.held)
	c.enter(in)
	c.audit(in)
}

// NoteMemo records the memory of the memo that was made of the current block. It is charged later. That
// is also done for a request that is refused, because other blocks may be the same.
func (in *Intake) NoteMemo() { in.ledger.gained = in.headers.gained() }

// NoteBlock records what s holds of the current block, if side opened s. It is charged later.
func (in *Intake) NoteBlock(s *Stream, side Side) {
	if s.opener != side {
		return
	}
	in.ledger.stream, in.ledger.block = s, in.headers.held
	in.NoteMemo()
}
