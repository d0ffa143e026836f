// SPDX-License-Identifier: Apache-2.0

package retry

// Replay keeps what an RPC has sent, for as long as it may have to be sent again by another
// attempt: until the RPC is committed to one. M is a message; the caller frees what a message
// holds. The zero value is that of an RPC which has sent nothing.
type Replay[M any] struct {
	sent      []M
	messages  int
	bytes     int
	ended     bool
	committed bool
}

// Committed says that nothing is kept any more.
func (r *Replay[M]) Committed() bool { return r.committed }

// Keep keeps a message of n bytes. It returns false if all that is kept is more than limit
// bytes by now: the RPC is to be committed.
func (r *Replay[M]) Keep(m M, n, limit int) bool {
	r.Begin(m)
	return r.Extend(n, limit)
}

// Begin keeps m, to which the caller adds messages. Extend follows each of them, and is Keep's count.
func (r *Replay[M]) Begin(m M) { r.sent = append(r.sent, m) }

// Extend counts a message of n bytes.
func (r *Replay[M]) Extend(n, limit int) bool {
	r.messages++
	r.bytes += n
	return r.bytes <= limit
}

// Messages is how many are kept.
func (r *Replay[M]) Messages() int { return r.messages }

// Fits says that a message of n bytes more is not too much to keep.
func (r *Replay[M]) Fits(n, limit int) bool { return r.bytes+n <= limit }

// KeepEnd notes that the end was sent, after all that is kept.
func (r *Replay[M]) KeepEnd() { r.ended = true }

// Ended says that the end was sent.
func (r *Replay[M]) Ended() bool { return r.ended }

// Sent are the messages that are kept, in their order.
func (r *Replay[M]) Sent() []M { return r.sent }

// Commit keeps nothing from now on. It returns what was kept, for the caller to free.
func (r *Replay[M]) Commit() []M {
	sent := r.sent
	r.sent, r.messages, r.committed = nil, 0, true
	return sent
}
