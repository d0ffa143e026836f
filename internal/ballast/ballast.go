// SPDX-License-Identifier: Apache-2.0

// Package ballast keeps the collector of a small and busy process from running all the time.
//
// The runtime collects when the heap has grown to twice what lives in it, with GOGC as it is by
// default, but not below 4 MB. In a process whose connections hold nothing hardly a megabyte
// lives, so one that carries messages collects a hundred times a second or more, and spends a
// third of its time on that. Another one, whose connections pin their buffers, has a larger heap
// and collects less: what is spared here would be paid there.
//
// So while collections come often, and messages come with them, the heap is weighed down so that
// the next collection begins at 16 MiB or, where that much is allocated in a tenth of a second, at
// up to 32 MiB. The weights are blocks that nobody writes to or reads, for which the system
// therefore needs no pages. They count as memory that lives, and they show in the heap's profile
// and figures (see experimental/footprint); what they let a process hold is garbage, up to that
// heap. When collections would be seldom without them, or no messages come, the blocks go, and a
// last collection takes that garbage with them.
//
// There is no ballast in a process with a heap of its own that is large enough, with GOGC=off,
// or with a memory limit (GOMEMLIMIT) below sixteen times what the heap is to be.
//
// Of collections a process hears by an object that each of them finds dead. Nothing else
// happens here while there is no ballast; while there is, a timer looks every two seconds.
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

// settle is how long it takes to see that collections would be seldom.
const settle = 2 * time.Second

// usualGoal is the heap, in bytes, at which a collection is to begin where little is allocated, and
// beats how often a second what is allocated may fill the heap where it is much.
const (
	usualGoal = 16 << 20
	beats     = 10
)

var start sync.Once

// Start has collections begin at a larger heap, of at most so many bytes, while messages come; with
// 0 nothing is done. The first call counts.
func Start(most uint64) {
	if most > 0 {
		start.Do(func() { process.start(most) })
	}
}

// Busy notes that messages come. It is for who deals with what a peer has sent, once a batch.
func Busy() { process.note() }

// Bytes is how much ballast there is.
func Bytes() int64 { return process.bytes.Load() }

// keeper is who looks after the ballast.
type keeper struct {
	most   uint64        // of the goal; never changed once started, as what follows
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
	seen   bool        // and a collection of a busy process since then
	looks  *time.Timer // while there is ballast
}

// bell is what collections are heard by. It has a pointer, as the runtime may put objects
// without any together, which then die together.
type bell struct{ _ *bell }

func (k *keeper) start(most uint64) {
	k.most = most
	k.listen()
}

// listen hears of the next collection, and so on.
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

// collected follows a collection.
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

// weigh has the hold as full as it is to be where so many bytes a second are allocated. mu is held.
func (k *keeper) weigh(s state, rate uint64) {
	before, goal := k.hold.bytes(), min(max(rate/beats, usualGoal), k.most)
	k.hold.fill(s.missing(goal, k.marked))
	after := k.hold.bytes()
	k.was = s.allocated + after - min(before, after)
	k.bytes.Store(int64(after))
}

// look sees whether the ballast is still needed.
func (k *keeper) look() {
	if k.unload() {
		runtime.GC()
	}
}

// unload reports whether the ballast is gone as it is no longer needed, and not because the heap
// has grown: then a collection takes a millisecond or two, with a goal that is not far larger than
// the default.
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
