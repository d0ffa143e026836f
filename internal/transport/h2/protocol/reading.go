// SPDX-License-Identifier: Apache-2.0

package protocol

import "google.golang.org/grpc/internal/transport/h2/hpack"

// ReaderState says what the reader does, as far as goroutines that queue frames have to know.
type ReaderState uint8

// What the reader may do.
const (
	ReaderWaits ReaderState = iota // it waits for input, or is about to
	ReaderWorks                    // it has more input in its buffer, and writes what is queued after that
	readerAway                     // the connection is parked, or about to be, and holds only what it needs then
)

// SetReader says what the reader does from now on.
func (c *Conn) SetReader(s ReaderState) { c.out.reader = s }

// EndBatch ends a batch: all frames that have arrived are handled, and the reader is about to wait.
// records is the memory, in bytes, of an incomplete record that the layer of a security protocol holds.
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

// CanSkipEndBatch reports whether EndBatch would do nothing now, and no goroutine is needed to write
// what is queued.
func (c *Conn) CanSkipEndBatch(in *Intake) bool {
	return c.out.reader == ReaderWaits && in.ledger.empty() && c.account.records == 0 && !c.life.mute &&
		(c.out.token != tokenFree || !c.sendable())
}

// Charge charges the account for what the reader has taken.
func (c *Conn) Charge(in *Intake) { c.enter(in) }

// Park gives back what only a busy connection needs: the reader goes away. kept is the result of
// Intake.Keep. records is described with EndBatch.
func (c *Conn) Park(kept hpack.Kept, records int) {
	c.out.reader = readerAway
	c.account.records = uint32(records)
	c.out.freeze()
	c.windows.Rest()
	c.streams.byID.keep(kept)
	c.streams.trim()
}

// Unpark is called when a parked connection gets a reader again. It returns the argument kept of
// Intake.Begin, which is needed if the Intake was released.
func (c *Conn) Unpark() hpack.Kept {
	c.out.reader = ReaderWaits
	return c.streams.byID.takeKept()
}

// BlockReader says that the reader waits. From now on WakeReader is asked for, once, when less may be
// queued or fewer handlers may run.
func (c *Conn) BlockReader() { c.streams.waits |= readerWaits }

// ReaderBlocked reports whether the reader still waits after BlockReader.
func (c *Conn) ReaderBlocked() bool { return c.streams.waits&readerWaits != 0 }

// EndWait ends the wait that BlockReader began. It returns false if that wait is over: WakeReader was
// asked for.
func (c *Conn) EndWait() bool {
	was := c.ReaderBlocked()
	c.streams.waits &^= readerWaits
	return was
}

// wakeReader asks for WakeReader, if the reader waits. The reader then checks again whether it has to
// wait.
func (c *Conn) wakeReader() {
	if c.EndWait() {
		c.todo |= WakeReader
	}
}

// IsHopeless reports whether the reader has waited too long for the handlers that still run, and few have
// returned since.
func (c *Conn) IsHopeless() bool { return c.streams.handlers.areHopeless() }

// WaitedTooLong records that the reader has waited for handlers for too long.
func (c *Conn) WaitedTooLong() {
	if c.IsCrowded() {
		c.streams.handlers.waitedTooLong()
	}
}
