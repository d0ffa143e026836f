// SPDX-License-Identifier: Apache-2.0

package protocol

// ledger is memory that the reader has taken and not yet charged to the account. The reader charges it
// when it has the driver's lock anyway, at the end of its batch at the latest. The reader owns it.
type ledger struct {
	stream *Stream // to be charged with body and block
	body   int
	block  *Shared
	loose  int     // bytes that the connection holds for itself
	gained *Shared // memory of a memo that was added
	lost   *Shared // memory of a memo that was dropped
}

func (l *ledger) empty() bool {
	return l.stream == nil && l.loose == 0 && l.gained == nil && l.lost == nil
}

// maxUncharged is how many bytes of a body may stay uncharged while the reader waits.
const maxUncharged = 1 << 10

// IsCharged reports whether nothing is left to be charged. soon means that the driver will charge the
// rest soon in any case: then a little may be left.
func (in *Intake) IsCharged(soon bool) bool {
	l := in.ledger
	if soon && l.body <= maxUncharged && l.block == nil {
		l.stream = nil
	}
	return l.empty()
}

// note records by how much p has grown or shrunk since the last call.
func (l *ledger) note(p *pile) {
	l.loose += p.held - p.charged
	p.charged = p.held
}
