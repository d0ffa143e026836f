// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/internal/envconfig"
	"google.golang.org/grpc/internal/park"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/internal/transport/h2"
	"google.golang.org/grpc/keepalive"
)

// result is what has come of a history.
type result struct {
	failure string
	history []string
	swarm   swarm
	choices []uint32
	steps   int
	calls   int
	sum     uint64 // of what has happened, to see whether it does again
}

// replay runs the history that the chooser chooses.
func replay(t *testing.T, c *chooser, points *coverage, verbose bool) (r result) {
	return play(t, &world{c: c, verbose: verbose, points: points})
}

// play runs the history of a world.
func play(t *testing.T, w *world) (r result) {
	defer func() {
		if p := recover(); p != nil {
			w.fail("panic: %v", p)
		}
		r = result{
			failure: w.failure, history: w.history, swarm: w.swarm, choices: w.c.made,
			steps: w.steps, calls: len(w.calls), sum: w.sum,
		}
	}()
	synctest.Test(t, func(*testing.T) { w.live() })
	return r
}

// live is the whole history.
func (w *world) live() {
	if w.begin == nil {
		w.begin = (*world).atRandom
	}
	w.begin(w)
	w.run(true)
	w.settle()
	w.rest()
	w.relent()
	w.part()
	w.tearDown()
	if w.failure == "" {
		w.leaveMemory()
	}
}

// memory is of earlier histories, for the next: what arrives at sockets, and what messages are compared with.
// One goroutine at a time runs histories.
var memory [][]byte

func usedMemory() (b []byte) {
	if n := len(memory); n > 0 {
		b, memory = memory[n-1], memory[:n-1]
	}
	return b[:0]
}

func (w *world) leaveMemory() {
	memory = append(memory, w.scratch)
	for _, l := range w.links {
		for _, s := range l.ends() {
			memory = append(memory, s.input.bytes)
			s.input = input{}
		}
	}
}

// atRandom chooses what a history is about.
func (w *world) atRandom() {
	w.prepare(newSwarm(w.c))
	calls := 1 + w.c.pick(2)
	if w.swarm.has(manyCalls) {
		calls += 4
	}
	for range calls {
		w.newCall()
	}
	w.faults = w.c.pick(10)
	if w.swarm.has(attempts) {
		w.faults += 5
	}
}

// prepare makes a world with one connection.
func (w *world) prepare(s swarm) {
	w.swarm = s
	w.note(nil, "%v", w.swarm)
	w.kernel = newKernel(w)
	w.ground = park.NewGround(w.kernel)
	w.pool = newPool(w)
	w.scratch = usedMemory()
	w.configure()
	if w.swarm.has(balances) {
		w.balance()
		return
	}
	w.connect()
}

func (w *world) configure() {
	tuning := transport.Tuning{BufferPool: w.pool, Ground: w.ground, StaticWindow: w.swarm.has(staticWindow)}
	if w.swarm.has(smallHeld) {
		tuning.MaxBytesHeld = 200 << 10
	}
	w.client = transport.ClientConfig{Tuning: tuning, UserAgent: "simulation"}
	cfg := &transport.ServerConfig{Tuning: tuning, MaxRecvMsgSize: 1 << 20, HandshakeTimeout: 1000 * time.Hour}
	cfg.Policy = keepalive.EnforcementPolicy{MinTime: time.Second, PermitWithoutStream: true}
	if w.swarm.has(keepalives) {
		w.client.Keepalive = keepalive.ClientParameters{Time: 10 * time.Second, Timeout: 3 * time.Second, PermitWithoutStream: w.c.pick(2) == 0}
		cfg.Keepalive = keepalive.ServerParameters{Time: 7 * time.Second, Timeout: 2 * time.Second}
	}
	if w.swarm.has(ages) {
		cfg.Keepalive.MaxConnectionAge = of(w.c, 5*time.Second, 50*time.Millisecond)
		cfg.Keepalive.MaxConnectionAgeGrace = of(w.c, time.Second, time.Hour)
		cfg.Keepalive.MaxConnectionIdle = of(w.c, time.Second, 10*time.Second)
	}
	envconfig.HTTPFramerReadBufferPooling = !w.swarm.has(unpooled)
	if w.swarm.has(fewStreams) {
		cfg.MaxStreams = of(w.c, uint32(1), 2, 3)
		w.places = int(cfg.MaxStreams)
	}
	cfg.Prepare()
	w.host = &transport.ServerHost{ServerConfig: cfg, Handler: (*server)(w)}
}

// settle ends all that keeps calls from their end, and checks that they come to it without the
// clock.
func (w *world) settle() {
	w.settling = true
	w.note(nil, "no more faults")
	for _, l := range w.links {
		l.near.stalled, l.far.stalled = false, false
	}
	if w.balanced != nil {
		w.balanced.settle()
	}
	w.run(false)
	for _, k := range w.calls {
		if k.hangs {
			k.cancel()
		}
	}
	w.run(false)
	w.allOver(func(k *call) bool { return k.link != nil && !k.link.mayEnd() })
	for i := 0; i < 10 && w.failure == "" && !w.isOver(); i++ {
		w.pass(2 * time.Second)
		w.run(false)
	}
	w.allOver(func(*call) bool { return true })
	w.checkAttempts()
}

func (k *call) done() bool {
	return k.over && k.senderDone && (k.handled == 0 || k.handlerDone)
}

func (w *world) isOver() bool {
	for _, k := range w.calls {
		if !k.done() {
			return false
		}
	}
	return true
}

func (w *world) allOver(among func(*call) bool) {
	for _, k := range w.calls {
		if !k.done() && among(k) {
			w.fail("call %d waits, and nothing can happen: over %v, sender done %v, handled %d, handler done %v",
				k.n, k.over, k.senderDone, k.handled, k.handlerDone)
		}
	}
}

// restTime is how long connections have nothing to do before they are looked at.
const restTime = 900 * time.Millisecond

// rest looks at connections that have nothing to do.
func (w *world) rest() {
	for range 6 {
		if w.failure != "" {
			return
		}
		w.pass(restTime / 6)
		w.run(false)
	}
	for _, l := range w.links {
		if !l.rests() || w.failure != "" {
			continue
		}
		w.reach(idleChecked)
		c, s := l.client.Stats(), l.server.Stats()
		if l.host == nil && (c.Started != c.Succeeded+c.Failed || s.Started != s.Succeeded+s.Failed || c.Started < s.Started) {
			w.fail("connection %d: streams are counted wrongly: client %d, %d, %d, server %d, %d, %d", l.n,
				c.Started, c.Succeeded, c.Failed, s.Started, s.Succeeded, s.Failed)
		}
		l.near.watch.checkResets(l.far.watch)
		if c.Streams != 0 || s.Streams != 0 {
			w.fail("connection %d: all calls have ended, and there are %d streams, and %d", l.n, c.Streams, s.Streams)
		}
		if w.parks() && !(c.Parked && s.Parked) {
			w.fail("connection %d is idle, and not parked: client %v, server %v", l.n, c.Parked, s.Parked)
		}
		if c.Parked && s.Parked {
			w.reach(parkedBoth)
			if lent, _ := w.pool.state(); len(w.links) == 1 && lent > 0 {
				w.fail("all connections are parked, and %d buffers are lent", lent)
			}
			if n := w.swept(); len(w.links) == 1 && n > 0 {
				w.fail("all connections are parked, and %d are in the sweeper", n)
			}
			if c.Held != 0 || s.Held != 0 {
				w.fail("connection %d is parked, and charged with %d and %d bytes", l.n, c.Held, s.Held)
			}
		}
	}
}

// swept returns how many connections the sweepers watch.
func (w *world) swept() int { return w.ground.Sweeper().Len() + w.ground.RetrySweeper().Len() }

// rests reports whether the connection has had nothing to do for a while.
func (l *link) rests() bool {
	return l.quiet() && !l.leaves() && (l.host == nil || time.Since(l.upSince) >= restTime)
}

// relent has the kernel watch again what it has refused to watch, and checks that connections make use of it.
func (w *world) relent() {
	if w.failure != "" || !w.swarm.has(fewWatches) || !w.mayPark() {
		return
	}
	w.note(nil, "the kernel refuses nothing any more")
	w.kernel.relents = true
	for _, d := range []time.Duration{park.RetryPeriod, park.RetryPeriod, restTime} {
		w.pass(d)
		w.run(false)
	}
	for _, l := range w.links {
		if !l.rests() || w.failure != "" {
			continue
		}
		if c, s := l.client.Stats(), l.server.Stats(); !c.Parked || !s.Parked {
			w.fail("connection %d is idle, and not parked though it may be: client %v, server %v", l.n, c.Parked, s.Parked)
		}
		if n := w.swept(); len(w.links) == 1 && n > 0 {
			w.fail("all connections are parked, and %d are in the sweepers", n)
		}
		for _, why := range []string{l.client.WhyNot(), l.server.WhyNot()} {
			if why != "" {
				w.fail("connection %d is parked, and is said not to be: %s", l.n, why)
			}
		}
		w.reach(parkedLate)
	}
}

// part ends all connections, and looks at what is left.
func (w *world) part() {
	if w.failure != "" {
		return
	}
	for _, l := range w.links {
		prompt := l.quiet() && !l.leaves() && !l.mayEnd() && l.client.Stats().Streams == 0
		l.disturb("the end")
		switch w.c.pick(4) {
		case 0, 3:
			if l.host != nil { // the channel's end is that of its connections
				break
			}
			if l.client != nil {
				w.program("close of the client", func() { l.client.Close(nil) })
			} else if l.server != nil {
				w.program("close of the server", func() { l.server.Close(nil) })
			}
		case 1:
			if l.server != nil {
				w.program("close of the server", func() { l.server.Close(nil) })
			}
		case 2:
			if l.server != nil {
				l.drained, l.prompt = true, prompt
				w.program("leave of the server", func() { l.server.Drain("the end") })
			}
		}
	}
	if w.balanced != nil {
		w.balanced.close()
	}
	for range 12 {
		w.run(false)
		if w.failure != "" || w.hasEnded() {
			break
		}
		w.pass(2 * time.Second)
		w.run(false)
		for _, l := range w.links {
			if l.prompt && !l.near.closed {
				w.fail("connection %d: the server has taken leave, and the client waits", l.n)
			}
		}
	}
	w.checkEnds()
}

func (w *world) hasEnded() bool {
	for _, l := range w.links {
		if !l.near.closed || !l.far.closed {
			return false
		}
	}
	return len(w.waiting) == 0
}

func (w *world) checkEnds() {
	if w.failure != "" {
		return
	}
	for _, l := range w.links {
		if l.clientClosed != l.endsTold() || l.serverClosed != 1 {
			w.fail("connection %d: the client was told of the end %d times, the server %d times", l.n, l.clientClosed, l.serverClosed)
		}
		if !l.near.closed || !l.far.closed {
			w.fail("connection %d: a socket is left: client %v, server %v", l.n, !l.near.closed, !l.far.closed)
		}
	}
	lent, _ := w.pool.state()
	switch {
	case len(w.waiting) > 0:
		w.fail("%d goroutines are left, the first at %s", len(w.waiting), placeNames[w.waiting[0].at])
	case len(w.kernel.known) > 0:
		w.fail("%d sockets are left in the kernel", len(w.kernel.known))
	case lent > 0:
		w.fail("%d buffers are left", lent)
	case transport.OpenConns() != 0:
		w.fail("%d connections are left", transport.OpenConns())
	case h2.BytesHeld() != 0:
		w.fail("%d bytes are charged, and no connection is left", h2.BytesHeld())
	case w.swept() != 0:
		w.fail("%d connections are left in the sweepers", w.swept())
	}
}

// tearDown ends all goroutines of a history, also of one that has failed.
func (w *world) tearDown() {
	w.mu.Lock()
	w.free, w.settling = true, true
	w.mu.Unlock()
	failed := w.failure != ""
	if b := w.balanced; b != nil && failed {
		go b.ch.Close()
	}
	for _, k := range w.calls {
		if k.end != nil {
			k.end()
		}
	}
	for range 10 {
		for _, l := range w.links {
			l.connected = true
			if failed {
				_, _ = l.near.Close(), l.far.Close()
			}
		}
		w.mu.Lock()
		list := w.waiting
		w.waiting = nil
		w.mu.Unlock()
		for _, x := range list {
			if x.task != nil {
				go x.task.Run()
			} else {
				x.ch <- struct{}{}
			}
		}
		w.settled()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if !failed {
			return
		}
		for _, l := range w.links {
			if l.client != nil {
				l.client.Close(nil)
			}
			if l.server != nil {
				l.server.Close(nil)
			}
		}
	}
}
