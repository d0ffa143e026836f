// SPDX-License-Identifier: Apache-2.0

package farpath

import (
	"math/rand/v2"
	"time"
)

// line decides what becomes of the packets of one direction. It has no clock of its own, and
// is for one goroutine at a time.
type line struct {
	shape Shape
	down  bool
	free  time.Time // when the last byte that waits has been sent
	rnd   *rand.Rand
	counts
	runs []run // of the last packet
}

// counts are those of a line alone.
type counts struct{ lost, full, down uint64 }

// run is consecutive segments of a packet that arrive together.
type run struct {
	first, end int
	due        time.Time
}

// which tells the two directions of a path apart, so that they do not lose the same.
func newLine(shape Shape, which uint64) *line {
	return &line{shape: shape, rnd: rand.New(rand.NewPCG(shape.Seed, which))}
}

// reshape lets another shape hold for what comes from now on. What waits keeps its turn.
func (l *line) reshape(shape Shape) { l.shape = shape }

// admit takes a packet that comes now, and returns which of its segments arrive, and when. The
// result is good until the next call.
func (l *line) admit(now time.Time, s segments) []run {
	l.runs = l.runs[:0]
	if l.down {
		l.counts.down++
		return nil
	}
	whole := true // since the last segment that did not get through
	for i := range s.count {
		sent, ok := l.send(now, s.wire(i))
		if !ok {
			l.full += uint64(s.count - i) // the ones behind come at the same moment
			break
		}
		if l.shape.Loss > 0 && l.rnd.Float64() < l.shape.Loss {
			l.lost++
			whole = true
			continue
		}
		if whole {
			l.runs = append(l.runs, run{first: i})
			whole = false
		}
		last := &l.runs[len(l.runs)-1]
		last.end, last.due = i+1, sent
	}
	for i := range l.runs {
		l.runs[i].due = l.runs[i].due.Add(l.holds())
	}
	return l.runs
}

// send puts bytes into the queue, if there is room, and returns when the last has been sent.
func (l *line) send(now time.Time, bytes int) (time.Time, bool) {
	if l.shape.Rate <= 0 {
		return now, true
	}
	if l.free.Before(now) {
		l.free = now
	}
	waiting := l.free.Sub(now).Seconds() * l.shape.Rate
	if waiting > 0 && int(waiting)+bytes > l.shape.queue() {
		return time.Time{}, false
	}
	l.free = l.free.Add(time.Duration(float64(bytes) / l.shape.Rate * float64(time.Second)))
	return l.free, true
}

// holds is how long a packet is on its way once it is sent.
func (l *line) holds() time.Duration {
	d := l.shape.RoundTrip / 2
	if l.shape.Reorder > 0 && l.rnd.Float64() < l.shape.Reorder {
		d += l.shape.ReorderBy
	}
	return d
}
