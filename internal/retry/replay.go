// SPDX-License-Identifier: Apache-2.0

package retry

// Replay keeps the messages that an RPC has sent, for other attempts to send again, until the RPC
// is committed to one attempt. M is the type of a message; the caller frees what a message holds.
// The zero value belongs to an RPC that has sent nothing.
type Replay[M any] struct {
	sent      []M
	messages  int
	bytes     int
	ended     bool
	committed bool
}

// Committed reports whether Commit was called: Replay then has no messages.
func (r *Replay[M]) Committed() bool { return r.committed }

// Keep keeps m, a message of n bytes. It returns false if the messages together now have more than
// limit bytes: the caller then commits the RPC.
func (r *Replay[M]) Keep(m M, n, limit int) bool {
	r.Begin(m)
	return r.Extend(n, limit)
}

// Begin keeps m, an M that holds several messages. The caller adds messages to it, and calls Extend
// for each.
func (r *Replay[M]) Begin(m M) { r.sent = append(r.sent, m) }

// Extend counts a message of n bytes, which the caller has added to the last M. It returns what
// Keep returns.
func (r *Replay[M]) Extend(n, limit int) bool {
	r.messages++
	r.bytes += n
	return r.bytes <= limit
}

// Messages returns how many messages are kept.
func (r *Replay[M]) Messages() int { return r.messages }

// Fits reports whether the messages have at most limit bytes together with another one of n bytes.
func (r *Replay[M]) Fits(n, limit int) bool { return r.bytes+n <= limit }

// KeepEnd records that the RPC has sent the end of its messages.
func (r *Replay[M]) KeepEnd() { r.ended = true }

// Ended reports whether KeepEnd was called.
func (r *Replay[M]) Ended() bool { return r.ended }

// Sent returns the messages that are kept, in the order in which they were sent.
func (r *Replay[M]) Sent() []M { return r.sent }

// Commit drops the messages. It returns them for the caller to free.
func (r *Replay[M]) Commit() []M {
	sent := r.sent
	r.sent, r.messages, r.committed = nil, 0, true
	return sent
}
