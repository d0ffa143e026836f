// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"math"

	"google.golang.org/grpc/internal/transport/h2/frame"
)

// streamTable is the one place that knows which streams exist, which ids are used up, and which side
// may open more streams.
type streamTable struct {
	byID *streamSet // nil while there is none

	nextLocal uint32  // the id of the next stream we open
	lastPeer  uint32  // the highest id the peer has opened
	skipped   idRange // the last ids that the peer skipped
	cutOff    idRange // spans the ids of the streams that we ended before the peer did
	maxLocal  uint32  // how many streams we may have open: the peer's setting
	granted   uint32  // places promised to waiters that have not taken them yet
	side      Side    // our side; immutable
	waits     waits   // who waits for less to be queued; it fills a gap
	misled    uint16  // waiters that were woken and found no place, since the peer's last SETTINGS
	queued    uint32  // bytes of DATA that wait on all streams, modulo 2^32; it stands here to fill a gap

	waiting *PlaceWaiter // the last of a ring of calls that wait for a place
}

// idRange is a range of ids from first to last, both included. The zero value is empty, as no stream
// has the id 0.
type idRange struct{ first, last uint32 }

func (r idRange) has(id uint32) bool { return id >= r.first && id <= r.last && id != 0 }

// grow makes the range reach to id.
func (r *idRange) grow(id uint32) {
	if r.first == 0 || id < r.first {
		r.first = id
	}
	r.last = max(r.last, id)
}

// PlaceWaiter is a call that waits until it may open a stream.
type PlaceWaiter struct {
	waiter     Waiter
	next, prev *PlaceWaiter // the calls that came after and before; the first follows the last. nil: out of the ring
}

func newStreamTable(side Side) streamTable {
	return streamTable{
		side:      side,
		nextLocal: side.firstStreamID(),
		maxLocal:  math.MaxUint32,
	}
}

// trim frees the memory that the streams do not need.
func (t *streamTable) trim() {
	if t.byID.len() == 0 {
		t.byID = nil
	}
	t.byID.trim()
}

func (t *streamTable) open() int { return t.byID.len() }

// local returns how many of the open streams we opened, and peer how many the peer opened. The client
// has opened all of them.
func (t *streamTable) local() uint32 {
	if t.side == Client {
		return uint32(t.open())
	}
	return 0
}

func (t *streamTable) peer() uint32 { return uint32(t.open()) - t.local() }

func (t *streamTable) get(id uint32) *Stream { return t.byID.get(id) }

func (t *streamTable) insert(s *Stream) {
	if t.byID == nil {
		t.byID = new(streamSet)
	}
	t.byID.add(s)
}

// remove takes s out of the table, and wakes a call that waits for its place. It reports whether s was
// there.
func (t *streamTable) remove(s *Stream) bool {
	if !t.byID.remove(s) {
		return false
	}
	if t.side == Client {
		t.grant()
	}
	return true
}

// canOpen reports whether a stream of ours fits under the peer's limit, and no earlier call waits.
func (t *streamTable) canOpen() bool { return t.waiting == nil && t.hasPlace() }

func (t *streamTable) hasPlace() bool {
	return uint64(t.local())+uint64(t.granted) < uint64(t.maxLocal)
}

// ours returns our streams whose ids are above low and at most high. It takes time for the ids in that
// range or for the open streams, whichever are fewer. So GOAWAYs that each name a lower stream cost no
// more together than there were streams.
func (t *streamTable) ours(low, high uint32) (list []*Stream) {
	switch {
	case t.local() == 0 || low >= high:
	case uint64(high-low) < 2*uint64(t.open()):
		for id := low + 1; id <= high; id++ {
			if s := t.get(id); s != nil {
				list = append(list, s)
			}
		}
	default:
		for s := range t.byID.all() {
			if s.id > low && s.id <= high {
				list = append(list, s)
			}
		}
	}
	return list
}

// exhausted reports whether we have used up our stream ids.
func (t *streamTable) exhausted() bool { return t.nextLocal > math.MaxInt32 }

func (t *streamTable) takeID() uint32 {
	id := t.nextLocal
	t.nextLocal += 2
	return id
}

// setMaxLocal applies the peer's SETTINGS_MAX_CONCURRENT_STREAMS.
func (t *streamTable) setMaxLocal(n uint32) {
	t.maxLocal = n
	t.grant()
}

// wait puts waiter into the ring. It is woken when there is a place for it.
func (t *streamTable) wait(waiter Waiter) *PlaceWaiter {
	w := &PlaceWaiter{waiter: waiter}
	w.next, w.prev = w, w
	if last := t.waiting; last != nil {
		w.next, w.prev = last.next, last
		w.next.prev, last.next = w, w
	}
	t.waiting = w
	return w
}

// grant promises the free places to waiting calls, and wakes these.
func (t *streamTable) grant() {
	for t.waiting != nil && t.hasPlace() {
		t.wakeNext()
	}
}

func (t *streamTable) wakeNext() {
	w := t.waiting.next
	t.unlink(w)
	t.granted++
	w.waiter.Wake()
}

// unlink takes w out of the ring.
func (t *streamTable) unlink(w *PlaceWaiter) {
	switch {
	case w.next == w: // it is alone
		t.waiting = nil
	case w == t.waiting:
		t.waiting = w.prev
	}
	w.prev.next, w.next.prev = w.next, w.prev
	w.next, w.prev = nil, nil
}

// claim is called for a waiter that was woken. It reports whether the place is still there: the peer
// may have lowered its limit.
func (t *streamTable) claim() bool {
	t.granted--
	return t.local() < t.maxLocal
}

// noteMisled counts a waiter that was woken for a place that the peer has taken back.
func (t *streamTable) noteMisled() {
	if t.misled < math.MaxUint16 {
		t.misled++
	}
}

// takeMisled returns how many waiters were woken for nothing, because of the peer, since the last call.
func (t *streamTable) takeMisled() int {
	n := t.misled
	t.misled = 0
	return int(n)
}

// abandon cancels the wait w. If w was given a place already, the place goes to the next waiter.
func (t *streamTable) abandon(w *PlaceWaiter) {
	if w.next != nil {
		t.unlink(w)
		return
	}
	t.granted-- // it is out of the ring: it was woken
	t.grant()
}

// wakeAll ends every wait. It is called when no stream can be opened any more.
func (t *streamTable) wakeAll() {
	for t.waiting != nil {
		t.wakeNext()
	}
}

// clear forgets all streams, at the end of the connection.
func (t *streamTable) clear() {
	t.byID = nil
}

// admit checks the id of a stream that the peer opens, and marks the id as used up.
//
// RFC 9113 section 5.1.1: "The identifier of a newly established stream MUST be numerically greater
// than all streams that the initiating endpoint has opened or reserved."
func (t *streamTable) admit(id uint32) error {
	if !t.side.peerMayOpen(id) {
		return frame.ConnError(frame.ProtocolError, "HEADERS on a stream that the peer may not open")
	}
	if id > t.lastPeer+2 {
		t.skipped = idRange{t.lastPeer + 1, id - 1}
	}
	t.lastPeer = id
	return nil
}

// checkUsed checks the id of HEADERS on a stream that is neither open nor idle. If we have ended the
// stream, the peer may have sent them before it knew that. Otherwise the peer has ended the stream
// itself, or skipped its id: "the first use of a new stream identifier implicitly closes all streams in
// the 'idle' state that might have been initiated by that peer with a lower-valued stream identifier",
// section 5.1.1, and "an endpoint that receives an unexpected stream identifier MUST respond with a
// connection error of type PROTOCOL_ERROR". We remember only the range of ids that the peer skipped
// last, and only one range for all streams that we have ended. Any other id in that range is not
// treated as an error either.
func (t *streamTable) checkUsed(id uint32) error {
	switch {
	case !t.side.peerMayOpen(id):
		return nil
	case t.skipped.has(id):
		return frame.ConnError(frame.ProtocolError, "HEADERS on a stream with a lower id than one that was opened")
	case !t.cutOff.has(id):
		return frame.ConnError(frame.ProtocolError, "HEADERS on a stream that was ended by who sends them")
	}
	return nil
}

// checkClosed checks the id of DATA on a stream that is neither open nor idle: see checkUsed.
func (t *streamTable) checkClosed(id uint32) error {
	if t.cutOff.has(id) {
		return nil
	}
	// "If a DATA frame is received whose stream is not in the 'open' or 'half-closed
	// (local)' state, the recipient MUST respond with a stream error of type
	// STREAM_CLOSED", section 6.1.
	return frame.StreamError(id, frame.StreamClosed, "DATA on a stream that was ended by who sends it")
}

// unopened reports whether neither side has opened id yet. "Receiving any frame other than HEADERS or
// PRIORITY on a stream in this state MUST be treated as a connection error of type PROTOCOL_ERROR",
// section 5.1.
func (t *streamTable) unopened(id uint32) bool {
	if t.side.opens(id) {
		return id >= t.nextLocal
	}
	return id > t.lastPeer
}
