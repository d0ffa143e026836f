// SPDX-License-Identifier: Apache-2.0

package h2

// ledger is what the reader has taken and not charged yet. It charges it when it takes
// Conn.mu anyway, at the end of its batch at the latest. Owned by the reader.
type ledger struct {
	stream *stream // who holds the bytes of body and the block that follow
	body   int
	block  *Shared
	loose  int     // bytes that the connection holds for itself
	gained *Shared // by a memo
	lost   *Shared
}

func (l *ledger) empty() bool {
	return l.stream == nil && l.loose == 0 && l.gained == nil && l.lost == nil
}

// note writes down what p holds more than when it was noted last, or less.
func (l *ledger) note(p *pile) {
	l.loose += p.held - p.charged
	p.charged = p.held
}
