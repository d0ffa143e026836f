// SPDX-License-Identifier: Apache-2.0

package h2

// role says who has the reader's role. The method on is the whole state machine; Conn.move makes a
// transition. A connection begins as opening. The peer's first SETTINGS make that reading.
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
// "-" means that the event can't happen, or has no effect. (*) Lending was useless: input came, or none
// came for too long, before any goroutine took the role.
//
// At most one goroutine has the role, and it alone makes the transitions, with two exceptions. In lent
// and away, start and take are made by the goroutine that got the role from the handle. And wake is
// made by a holder of the Receiver's lock. The role is changed to lent or away before the handle is
// parked, so that the goroutine that gets the role from the handle finds it in that state.
//
// Some state is elsewhere. input.swept says whether the sweeper watches the connection; it may watch in
// any state except starting and away. Two flags say why a wait for input was interrupted: Conn.quiet,
// by the sweeper, and lending.cut, by InlineReader.Wake. The holder of the role handles both before it
// waits again, or gives the role up.
type role uint32

const (
	opening     role = iota // a reader has it, or will; the peer's first SETTINGS have not arrived
	reading                 // a reader has it, on a goroutine of its own
	starting                // a reader has it that was just started, and has not looked for input yet
	lent                    // nobody has it: the connection is parked, with all that reading needs, for an InlineReader to take
	away                    // nobody has it: the connection is parked, or about to be, without what reading needs
	inlineReads             // an InlineReader has it, and deals with frames
	inlineWaits             // an InlineReader has it, and waits for input, or is about to
	inlineOver              // an InlineReader has it that was woken and is about to give it back

	roles // how many there are
)

// roleEvent is an event that changes the role.
type roleEvent uint8

const (
	start   roleEvent = iota // a reader begins, or goes on because the connection could not be parked
	look                     // the reader looks for input for the first time
	lend                     // the holder lends it
	keep                     // the role stays with the holder: the connection to lend could not be parked
	take                     // an InlineReader takes it
	wait                     // the InlineReader waits for input
	arrive                   // the InlineReader's wait is over, with input or without
	wake                     // what the InlineReader's goroutine waits for is there
	release                  // the holder parks the connection for good
	begin                    // the peer's first SETTINGS arrived

	roleEvents // how many there are
)

// roleTable is the table above, without the events that change nothing.
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

// move changes the role by the event ev, and returns what it was.
func (c *Conn) move(ev roleEvent) (from role) { return c.marks.move(ev) }

// whoReads returns the role at this moment.
func (c *Conn) whoReads() role { return c.marks.role() }

// hasBegun reports whether the peer's first SETTINGS have arrived.
func (c *Conn) hasBegun() bool { return c.whoReads() != opening }

// hasBegun reports what Conn.hasBegun does.
func (r *reader) hasBegun() bool { return (*Conn)(r).hasBegun() }
