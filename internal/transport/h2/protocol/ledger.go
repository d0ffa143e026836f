// SPDX-License-Identifier: Apache-2.0

package protocol

// ledger is memory that the reader has taken and not charged to the account yet. It does so
// when it has the driver's lock anyway, at the end of its batch at the latest. Owned by the reader.
type ledger struct {
	stream *Stream // to be charged with body and block
	body   int
	block  *Shared
	loose  int     // bytes that the connection holds for itself
	gained *Shared // what a new memo holds
	lost   *Shared // what a memo held that is forgotten
}

func (l *ledger) empty() bool {
	return l.stream == nil && l.loose == 0 && l.gained == nil && l.lost == nil
}

// maxUncharged is how many bytes of a body need not be charged before the reader waits.
const maxUncharged = 1 << 10

// IsCharged reports whether nothing is left to be charged, or, where soon says that it will be anyway, little.
func (in *Intake) IsCharged(soon bool) bool {
	l := in.ledger
	if soon && l.body <= maxUncharged && l.block == nil {
		l.stream = nil
	}
	return l.empty()
}

// note notes by how much p has grown or shrunk since the last call.
func (l *ledger) note(p *pile) {
	l.loose += p.held - p.charged
	p.charged = p.held
}
