// SPDX-License-Identifier: Apache-2.0

package ballast

import (
	"sync/atomic"
	"time"

	"google.golang.org/grpc/internal/clock"
	"google.golang.org/grpc/internal/mem"
)

// roomyStep is how many bytes a Roomy process allocates from one collection to the next. With 3 MiB, as in
// a small heap, collections take a tenth more of the time of a stream of large messages than copies do;
// with 15 MiB they take a fifth less.
const roomyStep = 8 << 20

// lookEvery is how long an answer of Roomy holds, and steady is how long all looks must have found room
// before Roomy returns true. Buffers that were lent a moment ago, or have just left their pool, count as
// live in the last collection, and no more in the next one.
const (
	lookEvery = 10 * time.Millisecond
	steady    = 250 * time.Millisecond
)

// room is process-wide, as the collector is.
var room roominess

type roominess struct {
	next  atomic.Int64 // when to look again, by the clock
	since atomic.Int64 // when the first of the looks was that have all found room; 0: the last one found none
	roomy atomic.Bool
}

// Roomy reports whether collections would be rare even if no large buffer lay in a pool. Then it is cheaper
// to let a program have the buffer in which a message arrived than to copy the message and use the buffer
// again.
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

// roomy is Roomy for a process with pooled bytes in its pools.
func (s state) roomy(pooled uint64) bool {
	return s.percent > 1<<20 || s.step(pooled) >= roomyStep // the former: GOGC=off, or nearly
}
