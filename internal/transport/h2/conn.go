// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/internal/alarm"
	"google.golang.org/grpc/internal/park"
	"google.golang.org/grpc/internal/readyreader"
	"google.golang.org/grpc/internal/transport/h2/flow"
	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/internal/transport/h2/hpack"
	"google.golang.org/grpc/internal/warm"
	"google.golang.org/grpc/mem"
)

// Conn is one HTTP/2 connection, of either side. See the package comment for
// who runs what, and in which order locks are taken.
type Conn struct {
	// Immutable after New.
	side    Side
	cfg     *Config
	nc      net.Conn
	handler Handler
	try     readyreader.Writer // nil if the connection can't be written without waiting

	// Owned by the reader. What it writes for each frame is in act: whoever else
	// uses the connection would wait for the cache line.
	act        *active     // what only a connection with input needs
	reading    frozen      // while there is none: the decoder's state
	kept       *hpack.Kept // and what streams hold of it; mostly nil
	lasting    lasting     // and what else must last
	gotPreface bool        // the peer's first SETTINGS arrived
	parks      bool        // the connection can be parked: act's rd is a Pollable
	swept      bool        // the sweeper watches the connection

	// Where it stands between busy and parked; safe for all. See idle.go.
	handle park.Handle

	// quiet says that the sweeper set the read deadline that the reader is
	// about to find.
	quiet atomic.Bool

	// heard is set for each batch, for part.
	heard atomic.Bool

	seat alarm.Seat // of a keepalive that is far off

	// lastRead is when input was last seen, in nanoseconds of the keepalive
	// clock. Written by the reader, and only where keepalive asks for it.
	lastRead atomic.Int64

	mu sync.Mutex
	// Everything below is guarded by mu.

	// The writer: see writer.go.
	out      outbuf
	writing  bool // somebody holds the write token
	mute     bool // nothing is written any more; the token is never given back
	slimmed  bool // the connection is parked, or about to
	sentWork bool // HEADERS or DATA were encoded since the peer's last PING

	// Where the connection stands in its life; see goaway.go for the leaving.
	started     bool // there is a reader, or a parked one
	gotSettings bool // keepalive has begun
	watching    bool // keepalive's tick will come
	listed      bool // it may come from farOff
	blocked     bool // the reader waits on wait
	draining    drainState
	leaving     bool // no new streams of ours; closes when the last one is gone
	farewell    bool // our last GOAWAY is queued
	left        bool // all is said; only the closing is left
	goneAway    bool // the peer sent GOAWAY
	admitting   bool // the reader decides about a stream: lastPeer counts it, the table not yet
	dead        bool
	end         *ending // nil as long as there is nothing to say

	sched   scheduler
	coder   *coder // nil while idle
	sending frozen // its state, meanwhile
	replies int32  // frames in out that the peer caused
	updates int32  // of these, window updates are counted apart

	// Streams and windows.
	table   streamTable
	outflow flow.Outflow
	zombies int32 // handlers that still run though their stream is gone
	inflow  flow.Inflow
	bdp     *flow.BDP // nil until DATA arrives
	window  uint32    // the initial window of streams, as announced
	granted uint32    // what new streams grant: more until that is acknowledged
	remote  remoteSettings
	acksDue int16 // SETTINGS of ours not yet acknowledged
	// hopeless says that the reader waited in vain for a handler to return, and
	// none has since.
	hopeless bool

	account account // what the peer makes us hold

	readBy    int64 // the read deadline by the clock, apart from the sweeper's; 0: none
	idleSince int64 // when the last stream ended; only with TrackIdle
	ka        keepaliveState
	timer     *time.Timer // for keepalive's next step, unless listed
}

// ending is what only a connection has that is about to end, or has ended.
// Guarded by Conn.mu.
type ending struct {
	cause        error         // of a dead one
	writeErr     error         // why, if a write failed
	flushDone    chan struct{} // closed when out is empty or can't be written
	reason       drainReason   // set with draining
	lastAccepted uint32        // the last stream that the peer's GOAWAY named
	lastSaid     uint32        // the last stream that our farewell named
	goAwayCause  *ConnError    // what it complained of, if it did
	patience     *time.Timer   // closes a connection that takes too long to end
}

// ending is there from the first call on. mu is held.
func (c *Conn) ending() *ending {
	if c.end == nil {
		c.end = new(ending)
	}
	return c.end
}

// active is what a connection needs while there is input: it is taken from a
// pool when input comes, and given back when the connection goes idle.
type active struct {
	lasting
	rd      readyreader.Buffered
	dec     hpack.Decoder
	caused  bool          // something was queued for the peer's sake
	entry   park.Entry    // in the process's sweeper
	wait    chan struct{} // of waitForBudget
	headers HeaderBlock
	memos   memos
	frags   fragments
	large   pile      // a frame that is larger than the read buffer need be
	batch   bool      // frames were read since the last BatchEnd
	broke   bool      // more than twice the bound is held, or was a moment ago
	now     time.Time // when the batch began
	ledger  ledger    // what is to be charged
	credit  int       // what may be reserved for the DATA frame at hand, whether or not it has come
}

// lasting is what of active is kept while a connection is idle.
type lasting struct {
	nonsense nonsense
	opened   uint32 // what late has seen of the table's ids
}

var actives = sync.Pool{New: func() any { return new(active) }}

// activate makes c the connection of a reader.
func (c *Conn) activate() {
	c.act = actives.Get().(*active)
	c.act.rd = readyreader.New(c.nc, c.readOptions())
	c.act.lasting = c.lasting
	c.thawDecoder()
	c.mu.Lock()
	c.slimmed = false
	c.mu.Unlock()
}

func (c *Conn) readOptions() readyreader.Options {
	return readyreader.Options{
		Pool:   c.cfg.Pool,
		Size:   max(c.cfg.ReadBuffer, frame.HeaderLen+frame.MinMaxFrameSize),
		Pooled: c.cfg.Pooled,
		Writer: c.try,
	}
}

// release gives a back, less what grew large.
func (a *active) release(pool mem.BufferPool) {
	park.ProcessSweeper().Remove(&a.entry)
	a.rd.Release()
	a.rd = nil
	if a.dec.Cap() > maxPooledTable {
		a.dec = hpack.Decoder{}
	}
	a.dec.Reset(nil) // others have no use for what was shared
	a.headers.list.Reset(0)
	a.headers.list.Release()
	a.headers.slot, a.headers.memo, a.headers.held = nil, nil, nil
	a.ledger = ledger{}
	a.broke = false
	a.frags.drop(pool) // a connection may end in the middle of a field block
	a.frags.charged = 0
	a.batch, a.caused = false, false
	a.wait = nil // a channel may belong to a synctest bubble
	a.memos.clear()
	actives.Put(a)
}

// New makes a connection out of nc, which it owns from then on. Nothing is read
// or written before Start.
func New(nc net.Conn, side Side, cfg *Config, h Handler) *Conn {
	c := &Conn{
		side:    side,
		cfg:     cfg,
		nc:      nc,
		handler: h,
		table:   newStreamTable(side, cfg.maxStreams()),
		outflow: flow.NewOutflow(flow.DefaultWindow),
		inflow:  flow.NewInflow(flow.DefaultWindow),
		window:  cfg.streamWindow(),
		granted: max(cfg.streamWindow(), flow.DefaultWindow),
		remote:  initialRemote,
	}
	if w, ok := readyreader.NewWriter(nc); ok {
		c.try = w
	}
	return c
}

// Start sends the preface and begins to read, on a goroutine of its own.
func (c *Conn) Start() {
	c.initIdle()
	c.mu.Lock()
	c.idleSince = clock()
	if c.dead {
		c.mu.Unlock()
		return // closed before it began, and told so
	}
	c.started = true
	c.sendPreface()
	c.unlockAndFlush()
	warm.Go((*reader)(c))
}

// Open gives s the next stream id and sends f, which has Headers, as its
// beginning, in one piece. It may wait for a place under the peer's limit of
// streams, first come first served; done ends the wait. If Open fails with
// another error than for trailers, the peer has seen nothing of s. f's data is
// freed in every case.
func (c *Conn) Open(s *Stream, f Frames, done <-chan struct{}) error {
	if f.Headers == nil {
		f.Data.Free()
		return ErrStreamDone // nothing else opens a stream
	}
	c.mu.Lock()
	if err := c.awaitPlace(done); err != nil {
		c.unlockAndFlush()
		f.Data.Free()
		return err
	}
	c.register(s, c.table.nextLocal, c.side)
	err := c.appendFrames(s, &f)
	if s.state == stateIdle { // the id is still unused
		s.state = stateClosed
		c.table.remove(s)
		c.mu.Unlock()
		return err
	}
	c.table.takeID()
	c.streamOpened()
	c.unlockAndFlush()
	return err
}

// awaitPlace waits until another stream of ours may be opened. mu is held, but
// for the wait itself.
func (c *Conn) awaitPlace(done <-chan struct{}) error {
	for may := c.table.canOpen(); ; {
		if err := c.mayOpen(); err != nil || may {
			return err
		}
		w := c.table.wait()
		c.mu.Unlock()
		select {
		case <-w.ready:
			c.mu.Lock()
			may = c.table.claim()
		case <-done:
			c.mu.Lock()
			c.table.abandon(w)
			return ErrNoPlace
		}
	}
}

func (c *Conn) mayOpen() error {
	switch {
	case c.dead:
		return c.end.cause
	case c.draining != notDraining || c.leaving || c.mute:
		return ErrDraining
	case c.table.exhausted():
		c.leave()
		return ErrDraining
	}
	return nil
}

// register puts s into the table. mu is held.
func (c *Conn) register(s *Stream, id uint32, opener Side) {
	s.conn, s.id, s.opener = c, id, opener
	s.out = flow.NewOutflow(c.remote.initialWindow)
	s.in = flow.NewInflow(c.granted)
	c.table.insert(s)
}

// Cause is why the connection ended, nil while it has not.
func (c *Conn) Cause() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.end == nil {
		return nil
	}
	return c.end.cause
}

// Idle reports whether no stream is open, and for how long. It wants
// Config.TrackIdle.
func (c *Conn) Idle() (time.Duration, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Duration(clock() - c.idleSince), c.table.open() == 0
}

// Streams is how many streams are open.
func (c *Conn) Streams() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.table.open()
}
