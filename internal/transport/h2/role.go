// SPDX-License-Identifier: Apache-2.0

package h2

// role is where the reader's role is. Its method on is the whole machine; Conn.move makes a transition. The
// connection begins as opening, and is reading from the peer's first SETTINGS on.
//
//	                  look             lend            take
//	away -> starting -------> reading -----> lent <-- - - - - -.
//	 ^  \    start       ^    |    ^ start    | \             | lend
//	 |   \               |    |    '----------'  \ take       |
//	 |    '----------------------------------------> inlineReads, inlineWaits, inlineOver
//	 |        take       |    |                       |      |
//	 '-------------------|----' release --------------'      |
//	                     '-----------------------------------'  start
//
//	from         start     look     lend  keep     take         wait         arrive       wake        release  begin
//	opening      -         -        -     -        -            -            -            -           -        reading
//	reading      -         -        lent  -        -            -            -            -           away     -
//	starting     -         reading  lent  -        -            -            -            -           away     -
//	lent         reading*  -        -     reading  inlineReads  -            -            -           -        -
//	away         starting  -        -     -        inlineReads  -            -            -           -        -
//	inlineReads  reading   -        lent  -        -            inlineWaits  -            inlineOver  away     -
//	inlineWaits  -         -        -     -        -            -            inlineReads  inlineOver  -        -
//	inlineOver   reading   -        lent  -        -            -            -            -           away     -
//
// "-" can't happen, or means nothing, and changes nothing. (*) lending was of no use: there was input,
// or none for too long, before anyone came to take it.
//
// At most one goroutine has the role, and that one makes the transitions, but for two kinds: start and take,
// where the role is lent or away, are for the goroutine that got it from the handle, and wake is for the
// holder of the Receiver's lock. The role is moved to lent or away before the handle is parked, so that the
// goroutine that gets it from there finds it so.
//
// What is not in it: input.swept says whether the sweeper watches, which it does of any role but starting and
// away. Two flags say why a wait for input was interrupted: Conn.quiet, by the sweeper,
// and lending.cut, by InlineReader.Wake. The holder of the role heeds both before it waits again, or gives the role up.
type role uint32

const (
	opening     role = iota // a reader has it, or will; the peer's first SETTINGS have not arrived
	reading                 // a reader has it, on a goroutine of its own
	starting                // a reader has it that has just been started, and not looked for input yet
	lent                    // nobody has it: the connection is parked, with all that reading needs, for an InlineReader to take
	away                    // nobody has it: the connection is parked, or about to be, without what reading needs
	inlineReads             // an InlineReader has it, and deals with frames
	inlineWaits             // an InlineReader has it, and waits for input, or is about to
	inlineOver              // an InlineReader has it, which was woken and gives it back

	roles // how many there are
)

// roleEvent is what can happen to the role.
type roleEvent uint8

const (
	start   roleEvent = iota // a reader begins, or goes on since it could not be parked
	look                     // it looks for input for the first time
	lend                     // the holder lends it
	keep                     // what was lent could not be parked
	take                     // an InlineReader takes it
	wait                     // the InlineReader waits for input
	arrive                   // its wait is over, with input or without
	wake                     // what the InlineReader's goroutine waits for is there
	release                  // the holder parks the connection for good
	begin                    // the peer's first SETTINGS arrived

	roleEvents // how many there are
)

// roleTable is the table above, without what changes nothing.
var roleTable = [roles][roleEvents]struct {
	to role
	is bool
}{
	opening:     {begin: {reading, true}},
	reading:     {lend: {lent, true}, release: {away, true}},
	starting:    {look: {reading, true}, lend: {lent, true}, release: {away, true}},
	lent:        {start: {reading, true}, keep: {reading, true}, take: {inlineReads, true}},
	away:        {start: {starting, true}, take: {inlineReads, true}},
	inlineReads: {start: {reading, true}, lend: {lent, true}, wait: {inlineWaits, true}, wake: {inlineOver, true}, release: {away, true}},
	inlineWaits: {arrive: {inlineReads, true}, wake: {inlineOver, true}},
	inlineOver:  {start: {reading, true}, lend: {lent, true}, release: {away, true}},
}

// on returns the role after ev. Pure.
func (r role) on(ev roleEvent) role {
	if next := roleTable[r][ev]; next.is {
		return next.to
	}
	return r
}

// move changes the role as ev does, and returns what it was.
func (c *Conn) move(ev roleEvent) (from role) { return c.marks.move(ev) }

// whoReads is the role at this moment.
func (c *Conn) whoReads() role { return c.marks.role() }

// hasBegun reports whether the peer's first SETTINGS arrived.
func (r *reader) hasBegun() bool { return (*Conn)(r).whoReads() != opening }
