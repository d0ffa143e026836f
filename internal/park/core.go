// SPDX-License-Identifier: Apache-2.0

package park

import (
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"google.golang.org/grpc/internal/tally"
)

// Owner is a connection as the poller knows it.
type Owner interface {
	// RawConn returns the socket to watch, always the same. Any goroutine may call it at any time.
	RawConn() syscall.RawConn
	// Wake confers the reader's role. A goroutine of the poller or the walk calls it without locks. It must
	// not block: it hands the connection to a goroutine that reads. A wake without input is possible; the
	// reader then tries, finds nothing and parks again.
	Wake()
	// Run confers the role as Wake does, and reads on the caller's goroutine, for as
	// long as it likes.
	Run()
}

// Handle is one connection's place in the poller. It is meant to be a field of the connection, and must not
// be copied after Init. All methods are safe for concurrent use, but only the holder of the reader's role
// may call Park.
type Handle struct {
	word atomic.Uint64 // a word

	// mu orders what is told to the kernel: an arming under way and a Close don't overlap. It is never held
	// during a wait, or while Wake or Run is called.
	mu   sync.Mutex
	slot uint32 // in the poller's table; 0: not registered. Guarded by mu.
	gen  uint32 // of the last arming. Guarded by mu.

	owner Owner // owner and set are immutable after Init
	set   *set
}

// backend is the kernel's side. Only wait blocks; one goroutine calls it until it fails. arm and disarm are
// called only between newBackend and close.
type backend interface {
	// arm asks for one event with this token when fd is readable, at its end,
	// or in error; at once if it is so now. It replaces an earlier arming.
	// first says that fd is new.
	arm(fd int, token uint64, first bool) error
	// disarm forgets fd.
	disarm(fd int)
	// wait blocks until there are events, and puts their tokens into tokens.
	wait(tokens []uint64) (int, error)
	// close makes wait fail.
	close()
}

// multiWaiter is a backend at which several goroutines can wait, each at a waiter of its own. One waiter is
// the leader's, at first the first one: events arrive only there. Nobody calls the backend's own wait.
type multiWaiter interface {
	backend
	waiters() []waiter
	// hold and release enclose everything that a goroutine does with waiters. What the waiters share is
	// freed once the backend is closed and nobody holds it.
	hold()
	release()
	// now stores the tokens of events that are pending at this moment in tokens. Any goroutine may call
	// it. Each event goes to one caller.
	now(tokens []uint64) int
}

// waiter is a place where one goroutine waits for a backend's events.
type waiter interface {
	// wait blocks until the waiter is the leader's and there are events, and stores their tokens in
	// tokens. The caller is the leader then, and has to promote a waiter.
	wait(tokens []uint64) (int, error)
	// promote makes this waiter the leader's: pending events go to the goroutine that waits here, or
	// that will.
	promote() error
}

// calmer is a backend that can take back an arming, for the cost of one.
type calmer interface {
	// calm takes back arm: an event that has not come yet does not come.
	calm(fd int)
}

// batch is how many events one look at the kernel takes.
const batch = 64

// set is a group of handles with one poller, which runs while any of them is registered. Parking and waking
// a registered handle rarely takes a lock of the set.
type set struct {
	open   func() (backend, error)
	pace   time.Duration // of the walk; 0: there is none
	parked tally.Tally
	p      atomic.Pointer[poller] // nil: nobody is registered. Written with mu held.

	mu  sync.Mutex
	err error // the poller failed; no further parking until nobody is registered
}

// poller is a running backend with a table of its own: if a stopped poller still has an event to deal with,
// it finds no handle there.
type poller struct {
	set       *set
	backend   backend
	multi     multiWaiter // the same; nil if only one goroutine can wait
	table     table
	followers followers
	failed    atomic.Bool // set.err is there
	walking   atomic.Bool // there will be a next step of the walk

	// guarded by set.mu
	walk   *time.Timer // its next step; nil: there was none yet
	walked int         // where in the table it is
}

// followers are the waiters of a poller that are not the leader's. The poller uses the leader/followers
// pattern: one goroutine, the leader, waits for events. When it has taken one it promotes a follower, which
// is waiting already, and reads the connection itself. So neither a goroutine nor a thread of the system
// has to be woken for the connection. Waking them is most of what an event costs where events are few.
//
//   - A leader that has taken events promotes a waiter, a follower's or its own, before it runs
//     anything that may block. So at each moment either one waiter is the leader's, or one goroutine is
//     about to promote one.
//   - Only the leader takes a waiter out of ready. Its own becomes free then, for a goroutine that
//     has finished what it ran.
//   - Where events are frequent, a goroutine that has read a connection takes the next event itself,
//     without being the leader, and goes on so for a moment. The leader is left alone: it learns of what
//     is pending if this goroutine blocks, or when a thread looks for events.
//   - As long as a connection is read and its handler neither blocks nor ends, nobody else looks for
//     events: the Go runtime has no other thread awake. So after a handler that took long, the next
//     events are handed to other goroutines, which wakes a thread.
type followers struct {
	ready       chan waiter  // a goroutine waits there, or is about to
	free        chan waiter  // no goroutine does
	slowPenalty atomic.Int32 // how many of the next events are handed to other goroutines
}

// table gives each registered handle a number that the kernel can hold, so that the kernel holds no Go
// pointer. Numbers start at 1 and are reused. The generation goes on counting where the number's last
// holder stopped, so that an event for that holder is not taken for one of the new holder.
//
// The caller must hold the set's mu, except for get.
type table struct {
	chunks atomic.Pointer[[]*chunk] // replaced as it grows
	n      uint32                   // how many slots there are
	free   uint32                   // head of the list of free slots; 0: none
	used   int
}

// chunk is a block of slots. Slots never move, so that get needs no lock.
type chunk [256]slot

type slot struct {
	h    atomic.Pointer[Handle]
	gen  uint32
	next uint32 // free slots
}
