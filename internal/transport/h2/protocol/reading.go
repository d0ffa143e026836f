// SPDX-License-Identifier: Apache-2.0

package protocol

import "google.golang.org/grpc/internal/transport/h2/hpack"

// ReaderState is what the reader does, as far as it matters to goroutines that queue frames.
type ReaderState uint8

// What the reader may do.
const (
	ReaderWaits ReaderState = iota // it waits for input, or is about to
	ReaderWorks                    // it has more input in its buffer, and writes what is queued when it has dealt with that
	readerAway                     // the connection is parked, or about to be: what isn't needed then is given back
)

// SetReader says what the reader does from now on.
func (c *Conn) SetReader(s ReaderState) { c.out.reader = s }

// EndBatch follows the last frame that has arrived: the reader is about to wait. records is the memory,
// in bytes, that the layer of a security protocol holds of an incomplete record.
func (c *Conn) EndBatch(in *Intake, records int) {
	c.enter(in)
	c.SetHeard(true)
	c.out.reader = ReaderWaits
	if c.account.records = uint32(records); records > 0 {
		c.audit(in)
	}
	if c.life.mute {
		c.DropOutput()
	}
}

// CanSkipEndBatch reports whether EndBatch has nothing to do now, and nobody is needed to write what is queued.
func (c *Conn) CanSkipEndBatch(in *Intake) bool {
	return c.out.reader == ReaderWaits && in.ledger.empty() && c.account.records == 0 && !c.life.mute &&
		(c.out.token != tokenFree || !c.sendable())
}

// Charge charges what the reader has taken.
func (c *Conn) Charge(in *Intake) { c.enter(in) }

// Park gives back what only a busy connection needs: the reader goes away. kept is what Intake.Keep
// returned, records as with endBatch.
func (c *Conn) Park(kept hpack.Kept, records int) {
	c.out.reader = readerAway
	c.account.records = uint32(records)
	c.out.freeze()
	c.windows.Rest()
	c.streams.byID.keep(kept)
	c.streams.trim()
}

// Unpark is for a reader that has come back. It returns what Intake.Begin needs, if that was
// released.
func (c *Conn) Unpark() hpack.Kept {
	c.out.reader = ReaderWaits
	return c.streams.byID.takeKept()
}

// BlockReader has WakeReader asked for when it may be that less is queued, or fewer handlers run.
func (c *Conn) BlockReader() { c.streams.handlers.blocked = true }

// ReaderBlocked reports whether the reader waits since BlockReader.
func (c *Conn) ReaderBlocked() bool { return c.streams.handlers.blocked }

// EndWait takes BlockReader back. It reports false if WakeReader was asked for.
func (c *Conn) EndWait() bool {
	was := c.streams.handlers.blocked
	c.streams.handlers.blocked = false
	return was
}

// wakeReader ends a wait of the reader's, which then looks again.
func (c *Conn) wakeReader() {
	if c.EndWait() {
		c.todo |= WakeReader
	}
}

// IsHopeless reports whether the reader waited too long for a handler to return, and none has since.
func (c *Conn) IsHopeless() bool { return c.streams.handlers.hopeless }

// WaitedTooLong follows a wait for handlers that took too long.
func (c *Conn) WaitedTooLong() { c.streams.handlers.hopeless = c.IsCrowded() }
