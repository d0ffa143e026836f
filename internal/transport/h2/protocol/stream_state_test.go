// SPDX-License-Identifier: Apache-2.0

package protocol

import "testing"

// TestStreamState walks the whole of RFC 9113 figure 2 without push: every
// state meets every event.
func TestStreamState(t *testing.T) {
	type want struct {
		next streamState
		ok   bool
	}
	no := func(s streamState) want { return want{s, false} }
	yes := func(s streamState) want { return want{s, true} }
	events := []streamEvent{sendHeaders, recvHeaders, sendData, recvData, sendEnd, recvEnd, sendReset, recvReset, lose}
	for _, row := range []struct {
		from streamState
		want []want // in the order of events
	}{
		{stateIdle, []want{
			yes(stateOpen), yes(stateOpen), no(stateIdle), no(stateIdle),
			yes(stateHalfClosedLocal), yes(stateHalfClosedRemote),
			no(stateIdle), no(stateIdle), no(stateIdle),
		}},
		{stateOpen, []want{
			yes(stateOpen), yes(stateOpen), yes(stateOpen), yes(stateOpen),
			yes(stateHalfClosedLocal), yes(stateHalfClosedRemote), yes(stateClosed), yes(stateClosed), yes(stateClosed),
		}},
		{stateHalfClosedLocal, []want{
			no(stateHalfClosedLocal), yes(stateHalfClosedLocal), no(stateHalfClosedLocal), yes(stateHalfClosedLocal),
			no(stateHalfClosedLocal), yes(stateClosed), yes(stateClosed), yes(stateClosed), yes(stateClosed),
		}},
		{stateHalfClosedRemote, []want{
			yes(stateHalfClosedRemote), no(stateHalfClosedRemote), yes(stateHalfClosedRemote), no(stateHalfClosedRemote),
			yes(stateClosed), no(stateHalfClosedRemote), yes(stateClosed), yes(stateClosed), yes(stateClosed),
		}},
		{stateClosed, []want{
			no(stateClosed), no(stateClosed), no(stateClosed), no(stateClosed),
			no(stateClosed), no(stateClosed), yes(stateClosed), yes(stateClosed), yes(stateClosed),
		}},
	} {
		for i, ev := range events {
			next, ok := row.from.next(ev)
			if (want{next, ok}) != row.want[i] {
				t.Errorf("%v, event %d: got %v %v, want %v %v", row.from, ev, next, ok, row.want[i].next, row.want[i].ok)
			}
		}
	}
}
