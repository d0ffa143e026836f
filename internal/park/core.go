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

// manned is a backend with several posts to wait at, of which one has the watch. Its own wait is
// not called. To begin with the first post has the watch.
type manned interface {
	backend
	posts() []post
	// hold and release are called around all that a goroutine does with posts: what these
	// share goes when nobody holds it, and it is closed.
	hold()
	release()
	// now puts tokens of events that are there at this moment into tokens, for who does not have
	// the watch. Each goes to one of those who ask.
	now(tokens []uint64) int
}

// post is a place where one goroutine waits for a backend's events.
type post interface {
	// wait blocks until the post has the watch and there are events, and puts their
	// tokens into tokens. The watch is the caller's then, who arms a post.
	wait(tokens []uint64) (int, error)
	// arm gives the post the watch: events that nobody has taken yet are for who waits
	// here, or comes to.
	arm() error
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
// poller still has in hand finds nobody there.
type poller struct {
	set     *set
	backend backend
	manned  manned // the same; nil if it has one post only
	table   table
	relay   relay
	failed  atomic.Bool // set.err is there
	walking atomic.Bool // there will be a next step of the walk

	// guarded by set.mu
	walk   *time.Timer // its next step; nil: there was none yet
	walked int         // where in the table it is
}

// relay is how the goroutines of a poller relieve each other. One of them has the watch: it
// takes the events. Where a connection has one it gives the watch to another, which waits
// already, and reads that connection itself: no goroutine is woken for it, and no thread of
// the system to run one. That is most of what an event costs where events are few.
//
//   - Who has taken events has the watch in hand, and arms a post before it runs what may
//     block: one that is ready, or its own. So a post has it where somebody waits, or is
//     about to, or one goroutine has it, which is about to arm a post.
//   - Only who has the watch in hand takes a post from those that are ready. Its own is free
//     then, for who comes back from what it ran.
//   - Where events are thick, who has read a connection takes the next event itself, without the
//     watch, and so on for a moment. The post that has it is left alone: whoever waits there
//     hears of what is there if this goroutine blocks, or somebody looks for events.
//   - While what came is run nobody else looks for events, if it neither blocks nor ends: the
//     Go runtime has no other thread awake. So after something that took long, what comes
//     next is handed to other goroutines for a while, which wakes a thread.
type relay struct {
	ready chan post // a goroutine waits there, or is about to
	free  chan post // nobody does
	shy   atomic.Int32
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
