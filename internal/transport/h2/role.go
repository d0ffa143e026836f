// SPDX-License-Identifier: Apache-2.0

package h2

// role is where the reader's role is. Its method on is the whole machine; Conn.move makes a transition. The
// connection begins as opening, and is reading from the peer's first SETTINGS on.
//
//	                  look             lend           take
//	away -> starting -------> reading -----> lent <-- - - - -.
//	 ^  \    start       ^    |    ^ start    | \            | lend
//	 |   \               |    |    '----------'  \ take      |
//	 |    '---------------------------------------> turnReads, turnWaits, turnOver
//	 |        take       |    |                      |     |
//	 '-------------------|----'  rest  --------------'     |
//	                     '---------------------------------'  start
//
//	from       start     look     lend  keep     take       wait       arrive     wake      rest  begin
//	opening    -         -        -     -        -          -          -          -         -     reading
//	reading    -         -        lent  -        -          -          -          -         away
//	starting   -         reading  lent  -        -          -          -          -         away
//	lent       reading*  -        -     reading  turnReads  -          -          -         -
//	away       starting  -        -     -        turnReads  -          -          -         -
//	turnReads  reading   -        lent  -        -          turnWaits  -          turnOver  away
//	turnWaits  -         -        -     -        -          -          turnReads  turnOver  -
//	turnOver   reading   -        lent  -        -          -          -          -         away
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
// and lending.cut, by Turn.Wake. The holder of the role heeds both before it waits again, or gives the role up.
type role uint32

const (
	opening   role = iota // a reader has it, or will; the peer's first SETTINGS have not arrived
	reading               // a reader has it, on a goroutine of its own
	starting              // a reader has it that has just been started, and not looked for input yet
	lent                  // nobody has it: the connection is parked, with all that reading needs, for a Turn to take
	away                  // nobody has it: the connection is parked, or about to be, without what reading needs
	turnReads             // a Turn has it, and deals with frames
	turnWaits             // a Turn has it, and waits for input, or is about to
	turnOver              // a Turn has it, which was woken and gives it back

	roles // how many there are
)

// roleEvent is what can happen to the role.
type roleEvent uint8

const (
	start  roleEvent = iota // a reader begins, or goes on since it could not be parked
	look                    // it looks for input for the first time
	lend                    // the holder lends it
	keep                    // what was lent could not be parked
	take                    // a Turn takes it
	wait                    // the Turn waits for input
	arrive                  // its wait is over, with input or without
	wake                    // what the Turn's goroutine waits for is there
	rest                    // the holder parks the connection for good
	begin                   // the peer's first SETTINGS arrived

	roleEvents // how many there are
)

// roleTable is the table above, without what changes nothing.
var roleTable = [roles][roleEvents]struct {
	to role
	is bool
}{
	opening:   {begin: {reading, true}},
	reading:   {lend: {lent, true}, rest: {away, true}},
	starting:  {look: {reading, true}, lend: {lent, true}, rest: {away, true}},
	lent:      {start: {reading, true}, keep: {reading, true}, take: {turnReads, true}},
	away:      {start: {starting, true}, take: {turnReads, true}},
	turnReads: {start: {reading, true}, lend: {lent, true}, wait: {turnWaits, true}, wake: {turnOver, true}, rest: {away, true}},
	turnWaits: {arrive: {turnReads, true}, wake: {turnOver, true}},
	turnOver:  {start: {reading, true}, lend: {lent, true}, rest: {away, true}},
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
