// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"errors"

	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/internal/transport/h2/protocol"
)

func (r *reader) onHeaders(h frame.Header, p []byte) error {
	b, whole, err := r.in.act.OnHeaders(h, p, r.core.Config())
	if err != nil || !whole {
		return err
	}
	return r.onBlock(b)
}

func (r *reader) onContinuation(h frame.Header, p []byte) error {
	b, whole, err := r.in.act.OnContinuation(h, p, r.core.Config())
	if whole {
		defer r.in.act.EndBlock(r.core.Config())
	}
	if err != nil || !whole {
		return err
	}
	return r.onBlock(b)
}

// onBlock handles a field block that was decoded.
func (r *reader) onBlock(b protocol.Block) error {
	in := &r.in.act.Intake
	defer in.DropBlock()
	c := r.lock()
	s, verdict, err := c.core.OnBlock(in, b)
	kind := protocol.EndedHalf
	if verdict == protocol.BlockIsMore && blockFault(b, in.Block()) == nil {
		if b.End {
			kind = c.core.EndRemote(in, s)
		}
		r.countNext(c, b)
	}
	c.unlock()
	switch verdict {
	case protocol.BlockIgnored:
		return err
	case protocol.BlockIsMore:
		return r.onMoreHeaders(s, b, kind)
	case protocol.BlockMustWait:
		err = r.waitForBudget(b.ID)
	}
	if err == nil {
		err = r.accept(b)
	}
	if err == nil {
		return nil
	}
	err = r.violation(err)
	c = r.lock()
	c.core.Refused(in)
	c.unlock()
	return err
}

// accept sets up a stream that the peer opened.
func (r *reader) accept(b protocol.Block) error {
	a := r.in.act
	s, err := r.handler.Accept(a.Block(), b.End)
	a.NoteMemo()
	if err != nil {
		var fe frame.Error
		if errors.As(err, &fe) {
			fe.StreamID = b.ID
			return fe
		}
		return frame.StreamError(b.ID, frame.InternalError, err.Error())
	}
	a.Useful()
	s.conn = (*Conn)(r)
	c := r.lock()
	c.core.Accepted(&a.Intake, &s.core, b)
	c.streamOpened()
	r.countNext(c, b)
	c.unlock()
	r.handler.Opened(s, b.End)
	return nil
}

// onMoreHeaders handles a block for a stream that is open. kind says what the end of the block has done
// to the stream.
func (r *reader) onMoreHeaders(s *protocol.Stream, b protocol.Block, kind protocol.EndKind) error {
	a := r.in.act
	if fault := blockFault(b, a.Block()); fault != nil {
		return r.streamFault(s, fault)
	}
	a.Useful()
	err := s.Receiver().OnHeaders(a.Block(), b.End)
	if kind == protocol.EndedBoth {
		a.NoteMemo() // nothing more is charged for the stream itself, only for the memo
	} else {
		a.NoteBlock(s, r.core.Side())
	}
	if err != nil {
		a.counted.s = nil // the Receiver has failed: nobody takes the DATA frame
	}
	return r.remoteEnded(s, kind, err)
}

// blockFault returns what is wrong with a block for a stream that is open, or nil.
func blockFault(b protocol.Block, fields *protocol.HeaderBlock) error {
	if b.Void == nil && fields.TooLarge() {
		return frame.StreamError(b.ID, frame.EnhanceYourCalm, "header list larger than announced")
	}
	return b.Void
}
