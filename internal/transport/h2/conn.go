// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/internal/transport/h2/flow"
	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/internal/transport/h2/hpack"
	"google.golang.org/grpc/internal/transport/readyreader"
	"google.golang.org/grpc/internal/transport/warm"
	"google.golang.org/grpc/mem"
)

// Config is how a connection is to be run. One Config serves any number of
// connections and is not changed once the first has started.
type Config struct {
	// Pool lends the buffers frames are read into and written from.
	Pool mem.BufferPool
	// ReadBuffer is the size of a read buffer in bytes; less than a frame of
	// 16 KiB with its header counts as that.
	ReadBuffer int
	// Pooled asks for a read buffer that is held only while there are bytes in
	// it, where the connection allows it.
	Pooled bool

	// StreamWindow and ConnWindow are the initial receive windows in bytes; 0
	// stands for 65,535. With StaticWindow they stay what they are, else they
	// grow with what the path can carry.
	StreamWindow uint32
	ConnWindow   uint32
	StaticWindow bool

	// MaxStreams is how many streams the peer may have open at a time; 0
	// stands for no limit.
	MaxStreams uint32
	// MaxHeaderList bounds the header list of one block that the peer sends,
	// as RFC 9113 section 6.5.2 counts it; 0 stands for 16 MiB.
	MaxHeaderList uint32
	// HeaderTable is SETTINGS_HEADER_TABLE_SIZE as announced; nil stands for
	// the protocol's 4,096.
	HeaderTable *uint32
	// Kinds names the header fields the role looks for.
	Kinds *hpack.Kinds

	// PrefaceTimeout bounds how long the peer's preface and first SETTINGS may
	// take; 0 is without bound.
	PrefaceTimeout time.Duration
	// TrackIdle keeps the time since which no stream is open: see Conn.Idle.
	TrackIdle bool
	Keepalive Keepalive
}

const defaultMaxHeaderList = 16 << 20

func (c *Config) maxHeaderList() uint32 {
	if c.MaxHeaderList == 0 {
		return defaultMaxHeaderList
	}
	return c.MaxHeaderList
}

// Conn is one HTTP/2 connection, of either side. See the package comment for
// who runs what, and in which order locks are taken.
type Conn struct {
	// Immutable after New.
	side     Side
	cfg      *Config
	nc       net.Conn
	handler  Handler
	pool     mem.BufferPool
	try      readyreader.Writer // nil if the connection can't be written without waiting
	blocking interface{ Write([]byte) (int, error) }

	// Owned by the reader.
	rd         readyreader.Buffered
	dec        hpack.Decoder
	act        *active // what only a connection with input needs
	nonsense   nonsense
	batch      bool      // frames were read since the last BatchEnd
	now        time.Time // when the batch began
	gotPreface bool      // the peer's first SETTINGS arrived
	wait       chan struct{}

	idle idler

	// quiet says that the sweeper set the read deadline that the reader is
	// about to find.
	quiet atomic.Bool

	// lastRead is when input was last seen, in nanoseconds of the keepalive
	// clock. Written by the reader, and only where keepalive asks for it.
	lastRead atomic.Int64

	mu sync.Mutex
	// Everything below is guarded by mu.

	// The writer: see writer.go.
	out        outbuf
	writing    bool // somebody holds the write token
	sched      scheduler
	enc        hpack.Encoder
	fields     FieldWriter
	seen       seenFields
	sentWork   bool // HEADERS or DATA were encoded since the peer's last PING
	replies    int  // frames in out that the peer caused
	writeErr   error
	flushDone  chan struct{} // closed when out is empty or can't be written
	stalled    outbuf        // the flusher's first batch
	stalledOff int

	// Streams and windows.
	table     streamTable
	outflow   flow.Outflow
	inflow    flow.Inflow
	bdp       flow.BDP
	window    uint32 // what new streams grant
	remote    remoteSettings
	acksDue   int  // SETTINGS of ours not yet acknowledged
	zombies   int  // handlers that still run though their stream was reset
	blocked   bool // the reader waits on wait
	needPlace bool // the reader holds a new stream until a handler ends

	// Taking leave: see goaway.go.
	draining     drainState
	drainCode    frame.ErrCode
	drainDebug   string
	leaving      bool // no new streams of ours; closes when the last one is gone
	left         bool
	goneAway     bool   // the peer sent GOAWAY
	lastAccepted uint32 // the last stream it named
	goAwayCause  error

	dead  bool
	cause error

	readBy      time.Time // the read deadline, apart from the sweeper's
	idleSince   int64     // when the last stream ended; only with TrackIdle
	ka          keepaliveState
	timer       *time.Timer
	dormant     bool // the timer is not armed
	gotSettings bool // keepalive has begun
}

// active is what a connection needs while there is input: it is taken from a
// pool when input comes, and given back when the connection goes idle.
type active struct {
	headers HeaderBlock
	memos   memos
	frags   fragments
}

var actives = sync.Pool{New: func() any { return new(active) }}

// release gives a back, less what grew large.
func (a *active) release() {
	if cap(a.frags.buf) > 16<<10 {
		a.frags.buf = nil
	}
	a.headers.list.Reset(0)
	a.headers.list.Release()
	a.headers.slot, a.headers.memo = nil, nil
	for i := range a.memos.slot {
		s := &a.memos.slot[i]
		s.block, s.memo, s.gen = s.block[:0], nil, 0
	}
	actives.Put(a)
}

// New makes a connection out of nc, which it owns from then on. Nothing is read
// or written before Start.
func New(nc net.Conn, side Side, cfg *Config, h Handler) *Conn {
	c := &Conn{
		side:     side,
		cfg:      cfg,
		nc:       nc,
		handler:  h,
		pool:     cfg.Pool,
		blocking: nc,
		table:    newStreamTable(side, cfg.maxStreams()),
		outflow:  flow.NewOutflow(flow.DefaultWindow),
		inflow:   flow.NewInflow(flow.DefaultWindow),
		window:   cfg.streamWindow(),
		remote:   initialRemote,
	}
	c.enc.Init(hpack.MaxEncoderTable)
	c.dec.SetKinds(cfg.Kinds)
	if w, ok := readyreader.NewWriter(nc); ok {
		c.try, c.blocking = w, w
	}
	if !cfg.StaticWindow {
		c.bdp = flow.NewBDP(c.window)
	}
	return c
}

// Start sends the preface and begins to read, on a goroutine of its own.
func (c *Conn) Start() {
	c.rd = readyreader.New(c.nc, readyreader.Options{
		Pool:   c.pool,
		Size:   max(c.cfg.ReadBuffer, frame.HeaderLen+frame.MinMaxFrameSize),
		Pooled: c.cfg.Pooled,
	})
	c.initIdle()
	c.mu.Lock()
	c.idleSince = clock()
	c.sendPreface()
	c.unlockAndFlush()
	warm.Go((*reader)(c))
}

// Open gives s the next stream id and sends f as its beginning, in one piece.
// done ends the wait for a place under the peer's limit of streams. If Open
// fails the peer has seen nothing of s, and f's data is freed.
func (c *Conn) Open(s *Stream, f Frames, done <-chan struct{}) error {
	c.mu.Lock()
	for {
		if err := c.mayOpen(); err != nil {
			c.mu.Unlock()
			f.Data.Free()
			return err
		}
		if c.table.canOpen() {
			break
		}
		w := c.table.wait()
		c.mu.Unlock()
		select {
		case <-w.ready:
			c.mu.Lock()
		case <-done:
			c.mu.Lock()
			c.table.abandon(w)
			c.mu.Unlock()
			f.Data.Free()
			return ErrNoPlace
		}
	}
	c.register(s, c.table.nextLocal, c.side)
	err := c.appendFrames(s, &f)
	if err != nil {
		s.state = stateClosed
		c.table.remove(s) // the id is still unused
		c.mu.Unlock()
		return err
	}
	c.table.takeID()
	c.streamOpened()
	c.unlockAndFlush()
	return nil
}

func (c *Conn) mayOpen() error {
	switch {
	case c.dead:
		return c.cause
	case c.draining != notDraining || c.leaving || c.writeErr != nil:
		return ErrDraining
	case c.table.exhausted():
		c.leaving = true
		return ErrDraining
	}
	return nil
}

// register puts s into the table. mu is held.
func (c *Conn) register(s *Stream, id uint32, opener Side) {
	s.conn, s.id, s.opener = c, id, opener
	s.out = flow.NewOutflow(c.remote.initialWindow)
	s.in = flow.NewInflow(c.window)
	c.table.insert(s)
}

// Cause is why the connection ended, nil while it has not.
func (c *Conn) Cause() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cause
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

// Close ends the connection at once. Its streams are told err.
func (c *Conn) Close(err error) {
	if err == nil {
		err = ErrClosed
	}
	c.terminate(err)
}

// terminate is the one way a connection ends. The first caller's error stands.
// The owner is told before the streams are.
func (c *Conn) terminate(err error) {
	c.mu.Lock()
	if c.dead {
		c.mu.Unlock()
		return
	}
	if c.writeErr != nil {
		err = c.writeErr
	}
	c.dead, c.cause = true, err
	streams := make([]*Stream, 0, c.table.open())
	for _, s := range c.table.byID {
		s.state = stateClosed
		c.sched.remove(s)
		if s.pending != nil {
			s.pending.drop()
			s.pending = nil
		}
		s.signalSpace()
		streams = append(streams, s)
	}
	c.table.byID = nil
	c.table.local, c.table.peer = 0, 0
	c.table.wakeAll()
	c.stopTimer()
	c.wakeReaderLocked()
	if !c.writing || c.writeErr != nil {
		c.out.free(c.pool)
	}
	if c.flushDone != nil {
		close(c.flushDone)
		c.flushDone = nil
	}
	c.mu.Unlock()
	parked := c.idle.handle.Close()
	c.nc.Close()
	c.handler.Closed(err)
	for _, s := range streams {
		s.recv.OnAbort(&StreamError{Code: frame.InternalError, Cause: err})
	}
	if parked {
		warm.Go((*reader)(c)) // it was parked: it comes back to clean up
	}
}
