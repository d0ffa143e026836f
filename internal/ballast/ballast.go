// SPDX-License-Identifier: Apache-2.0

// Package ballast keeps the collector of a small and busy process from running all the time.
//
// The runtime collects garbage when the heap has grown to twice what is live in it, with the default GOGC,
// but not below 4 MB. In a process whose connections hold nothing, hardly a megabyte is live. If such a
// process carries messages, it collects a hundred times a second or more, and spends a third of its time on
// that. A process whose connections pin their buffers has a larger heap and collects less often. So a
// process that holds little memory would pay for that in time.
//
// So while collections come often, and messages come with them, this package adds weight to the heap, so
// that the next collection begins at 16 MiB. Where that much is allocated in a tenth of a second, it begins
// later, at most at the heap that Start was given. The weights are blocks that nobody writes to or reads,
// so the system needs no pages for them. They count as live memory, and they show in the heap's profile and
// figures (see experimental/footprint). What they let a process hold is garbage, up to that heap. When
// collections would be rare without the blocks, or no messages come, this package drops the blocks, and a
// last collection takes that garbage with them.
//
// There is no ballast in a process whose own heap is large enough, with GOGC=off, or with a memory limit
// (GOMEMLIMIT) below sixteen times the heap to reach.
//
// The package hears of collections through an object that each of them finds dead. Nothing else happens
// here while there is no ballast; while there is, a timer looks every two seconds.
package ballast

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/internal/clock"
)

// process is the keeper of the process's heap.
var process = keeper{read: readState, settle: settle}

// settle is the time between two looks at whether collections would be rare without ballast.
const settle = 2 * time.Second

// usualGoal is the heap, in bytes, at which a collection begins if little is allocated. If much is
// allocated, beats is how many times a second that may fill the heap.
const (
	usualGoal = 16 << 20
	beats     = 10
)

var start sync.Once

// Start makes collections begin at a larger heap, of at most most bytes, while messages come. If most is 0,
// Start does nothing. Only the first other call counts.
func Start(most uint64) {
	if most > 0 {
		start.Do(func() { process.start(most) })
	}
}

// Busy notes that messages come. Code that deals with what a peer has sent calls it once a batch.
func Busy() { process.note() }

// Bytes returns how much ballast there is.
func Bytes() int64 { return process.bytes.Load() }

// keeper looks after the ballast.
type keeper struct {
	most   uint64        // of the goal; never changed once started, nor are the two below
	read   func() state  // what the runtime says
	settle time.Duration // between two looks

	busy  atomic.Bool  // since the last collection
	bytes atomic.Int64 // that hold has

	mu sync.Mutex
	// Guarded by mu.
	rhythm
	hold   hold
	marked uint64      // what hold had at the last collection
	was    uint64      // state.allocated at the last look,
	seen   bool        // there was a collection of a busy process since then
	looks  *time.Timer // while there is ballast
}

// bell is the object through which collections are heard. It has a pointer, because the runtime may put
// objects without pointers together, which then die together.
type bell struct{ _ *bell }

func (k *keeper) start(most uint64) {
	k.most = most
	k.listen()
}

// listen makes k hear of the next collection, and of each one after that.
func (k *keeper) listen() {
	runtime.AddCleanup(new(bell), func(k *keeper) {
		k.collected()
		k.listen()
	}, k)
}

func (k *keeper) note() {
	if !k.busy.Load() { // spares others the cache line
		k.busy.Store(true)
	}
}

// collected is called after each collection.
func (k *keeper) collected() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.marked = k.hold.bytes()
	switch now, busy := time.Duration(clock.Now()), k.busy.Swap(false); {
	case k.looks != nil:
		k.seen = k.seen || busy
	case !busy:
		k.rhythm = rhythm{}
	case k.often(now):
		s := k.read()
		rate, ok := k.again(now, s)
		if !ok {
			return
		}
		if k.weigh(s, rate); k.hold.bytes() > 0 {
			k.looks = time.AfterFunc(k.settle, k.look)
		}
	}
}

// weigh makes the hold as full as it should be if rate bytes a second are allocated. mu is held.
func (k *keeper) weigh(s state, rate uint64) {
	before, goal := k.hold.bytes(), min(max(rate/beats, usualGoal), k.most)
	k.hold.fill(s.missing(goal, k.marked))
	after := k.hold.bytes()
	k.was = s.allocated + after - min(before, after)
	k.bytes.Store(int64(after))
}

// look checks whether the ballast is still needed.
func (k *keeper) look() {
	if k.unload() {
		runtime.GC()
	}
}

// unload drops the ballast if it is no longer needed, or if the heap has grown instead. It reports whether
// there was ballast that was no longer needed. A collection then takes a millisecond or two, with a goal
// that is not far larger than the default.
func (k *keeper) unload() (quiet bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	s, busy := k.read(), k.busy.Load() || k.seen
	n := s.allocated - k.was
	needed := busy && n >= few*s.step(k.marked)
	k.seen = false
	k.weigh(s, perSecond(n, k.settle))
	if k.hold.bytes() > 0 && needed {
		k.looks.Reset(k.settle)
		return false
	}
	quiet = k.hold.bytes() > 0
	k.hold.fill(0)
	k.bytes.Store(0)
	k.rhythm, k.looks = rhythm{}, nil
	return quiet
}
