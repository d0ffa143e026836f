// SPDX-License-Identifier: Apache-2.0

package h2

// role is where the reader's role is. It is guarded by Conn.mu, and is set before the handle is
// parked: whoever gets the role from the handle finds the connection lent or away. Its method on, which is
// pure, says what becomes of it:
//
//	from    start           keep     lend    take    rest
//	reads   reads           -        lent    -       away
//	taken   reads           -        lent    -       away
//	lent    reads, missed   reads    -       taken   -
//	away    reads           -        -       taken   -
//
// "-" can't happen, and changes nothing. missed: there was input, or none for too long, before anyone
// came to take what was lent.
type role uint8

const (
	reads role = iota // a reader has it, on a goroutine of its own; or the connection has not begun
	taken             // a Turn has it
	lent              // nobody has it: the connection is parked, with all that reading needs, for a Turn to take
	away              // nobody has it: the connection is parked, or about to be, without what reading needs

	roles // how many there are
)

// roleEvent is what can happen to the role.
type roleEvent uint8

const (
	start roleEvent = iota // a reader begins, or goes on since it could not be parked
	keep                   // what was lent could not be parked
	lend                   // whoever has it lends it
	take                   // a Turn takes it
	rest                   // whoever has it parks the connection for good

	roleEvents // how many there are
)

// roleTable is the table above; a role that stands for itself where it can't is a "-".
var roleTable = [roles][roleEvents]role{
	reads: {start: reads, keep: reads, lend: lent, take: reads, rest: away},
	taken: {start: reads, keep: taken, lend: lent, take: taken, rest: away},
	lent:  {start: reads, keep: reads, lend: lent, take: taken, rest: lent},
	away:  {start: reads, keep: away, lend: away, take: taken, rest: away},
}

// on returns the role after ev.
func (r role) on(ev roleEvent) (next role, missed bool) {
	return roleTable[r][ev], r == lent && ev == start
}

// move changes the role as ev does.
func (c *locked) move(ev roleEvent) (missed bool) {
	c.role, missed = c.role.on(ev)
	return missed
}
