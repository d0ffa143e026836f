// SPDX-License-Identifier: Apache-2.0

package ballast

import (
	"sync/atomic"
	"time"

	"google.golang.org/grpc/internal/clock"
	"google.golang.org/grpc/internal/mem"
)

// roomyStep is how many bytes are allocated from one collection to the next in a process that is
// Roomy. With 3 MiB, as a small heap has them, collections take a tenth more of the time of a stream
// of large messages than copies do, with 15 a fifth less.
const roomyStep = 8 << 20

// lookEvery is how long an answer of Roomy's is good for, and steady how long all looks must have found
// room before it says so: buffers that were lent a moment ago, or have just left their pool, live in
// the last collection's eyes, and are gone in the next one's.
const (
	lookEvery = 10 * time.Millisecond
	steady    = 250 * time.Millisecond
)

// process-wide, as the collector is.
var room roominess

type roominess struct {
	next  atomic.Int64 // when to look again, by the clock
	since atomic.Int64 // when the first of those looks was that have all found room; 0: the last found none
	roomy atomic.Bool
}

// Roomy reports whether collections would be seldom also if no large buffer lay in a pool: then it is
// cheaper to let a program have the buffer that a message arrived in than to copy the message and
// use the buffer again.
func Roomy() bool {
	return room.ask(clock.Now(), func() bool {
		return readState().roomy(uint64(mem.Default().Stats().Kept))
	})
}

// ask looks, if the last look was some time ago.
func (r *roominess) ask(now int64, look func() bool) bool {
	next := r.next.Load()
	if due := now >= next || next-now > 2*int64(lookEvery); due && r.next.CompareAndSwap(next, now+int64(lookEvery)) {
		r.looked(now, look())
	}
	return r.roomy.Load()
}

func (r *roominess) looked(now int64, room bool) {
	since := r.since.Load()
	switch {
	case !room:
		since = 0
	case since == 0 || since > now:
		since = max(now, 1)
	}
	r.since.Store(since)
	r.roomy.Store(room && now-since >= int64(steady))
}

// roomy is Roomy where so many bytes lie in pools.
func (s state) roomy(pooled uint64) bool {
	return s.percent > 1<<20 || s.step(pooled) >= roomyStep // the former: GOGC=off, or nearly
}
