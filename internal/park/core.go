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
	// RawConn is the socket to watch, always the same. It is called by anyone, at
	// any time.
	RawConn() syscall.RawConn
	// Wake confers the reader's role. It is called on a goroutine of the poller or the
	// walk's, without locks, and must not block: it hands the connection to a
	// goroutine that reads. A wake without input is possible; the reader tries,
	// finds nothing and parks again.
	Wake()
	// Run confers the role as Wake does, and reads on the caller's goroutine, for as
	// long as it likes.
	Run()
}

// Handle is one connection's place in the poller. It is meant to be a field of
// the connection, and must not be copied after Init. All methods are safe for
// concurrent use, Park as the holder of the reader's role.
type Handle struct {
	word atomic.Uint64 // a word

	// mu orders what is told to the kernel: an arming under way and a Close
	// don't overlap. It is never held while waiting or calling out.
	mu   sync.Mutex
	slot uint32 // in the poller's table; 0: not registered. Guarded by mu.
	gen  uint32 // of the last arming. Guarded by mu.

	owner Owner // immutable after Init, as is set
	set   *set
}

// backend is the kernel's side. Only wait blocks. arm and disarm are called
// between newBackend and close, wait by one goroutine until it fails.
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

// multiWaiter is a backend at which several goroutines can wait, each with a waiter of its own. One
// waiter is the leader's, to begin with the first: only there events arrive. The backend's own wait is not
// called.
type multiWaiter interface {
	backend
	waiters() []waiter
	// hold and release are called around all that a goroutine does with waiters. What the waiters
	// share is freed when nobody holds it and the backend is closed.
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

// calmer is a backend that can take back an arming, at the price of one.
type calmer interface {
	// calm keeps what arm has asked for from coming, as far as it has not come yet.
	calm(fd int)
}

// batch is how many events one look at the kernel takes.
const batch = 64

// set is a group of handles with one poller, which runs while any of them is
// registered. To park and to wake takes nothing of it that another handle waits for.
type set struct {
	open   func() (backend, error)
	pace   time.Duration // of the walk; 0: there is none
	parked tally.Tally
	p      atomic.Pointer[poller] // nil: nobody is registered. Written with mu held.

	mu  sync.Mutex
	err error // the poller failed; no further parking
}

// poller is a running backend. Its table is its own: an event that a stopped
// poller has still to deal with finds nobody there.
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

// followers are the waiters of a poller that are not the leader's. The poller works as the
// leader/followers pattern says: one goroutine, the leader, waits for events. When it has taken one it
// promotes a follower, which waits already, and reads the connection itself. So no goroutine is woken
// for the connection, and no thread of the system to run one. That is most of what an event costs
// where events are few.
//
//   - A leader that has taken events promotes a waiter, a follower's or its own, before it runs
//     anything that may block. So at each moment either one waiter is the leader's, or one goroutine is
//     about to promote one.
//   - Only the leader takes a waiter out of ready. Its own becomes free then, for the goroutine that
//     comes back from what it ran.
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

// table gives each registered handle a number that the kernel can hold, so that
// it holds no Go pointer. Numbers start at 1 and are reused; the generation goes
// on counting where the number's last holder stopped, so that an event for that
// one does not pass for the new holder's.
//
// All but get is called with the set's mu.
type table struct {
	chunks atomic.Pointer[[]*chunk] // replaced as it grows
	n      uint32                   // how many slots there are
	free   uint32                   // head of the list of free slots; 0: none
	used   int
}

// chunk is some of the slots. They stay where they are, so that get needs no lock.
type chunk [256]slot

type slot struct {
	h    atomic.Pointer[Handle]
	gen  uint32
	next uint32 // free slots
}
