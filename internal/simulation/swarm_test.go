// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"syscall"
	"time"
)

// swarm is which features and faults a history has: each is on or off at random, so that some have
// few of them, and those often.
type swarm uint64

type feature uint8

const (
	shortReads    feature = iota // a read returns less than there is
	shortWrites                  // a write takes less than there is room for
	cutsBytes                    // bytes arrive cut anywhere
	resetsOnClose                // to close with unread input resets
	fewWatches                   // the kernel refuses to watch
	vainEvents                   // events without input
	doubleEvents                 // the same event twice
	staleEvents                  // events of earlier armings
	stalls                       // a direction stands still for a while
	cuts                         // a connection breaks
	halfCloses                   // one end's direction ends
	cancels                      // programs cancel
	deadlines                    // calls have deadlines
	stopsReading                 // programs stop reading
	neverEnds                    // handlers wait for the end of their context
	bulk                         // messages larger than windows
	manyCalls
	manyMessages
	drains // servers take leave
	closes // either side closes at once
	restarts
	smallRoom // sockets hold little
	staticWindow
	fewStreams
	keepalives
	timePasses
	watchedCalls // programs end their streams themselves when their contexts end
	smallHeld    // the account's bound is low
	plainConns   // connections of which nobody knows what they do
	unpooled     // each connection has a read buffer for life
	ages         // servers take leave of connections that are old, or idle
	retires      // clients take leave
	handovers    // streams that nobody waits for
	layered      // something between the socket and the connection, which does not know what it holds
	secured      // TLS
	attempts     // calls are made again when they fail, as a policy says
	refuses      // the server refuses calls before a handler sees them
	balances     // a channel is in front of several servers
	hedges       // calls are sent several times, and the first answer counts
	seals        // records of ALTS
	features
)

var featureNames = [features]string{
	"short reads", "short writes", "cut bytes", "resets on close", "few watches", "vain events",
	"double events", "stale events", "stalls", "cuts", "half-closes", "cancels", "deadlines", "stops reading",
	"never ends", "bulk", "many calls", "many messages", "drains", "closes", "restarts", "small room",
	"static window", "few streams", "keepalives", "time passes", "watched calls", "small account",
	"plain connections", "unpooled reads", "ages", "retires", "hand-overs", "a layer", "TLS", "attempts", "refusals",
	"a balancer", "hedging", "ALTS",
}

func (s swarm) has(f feature) bool { return s&(1<<f) != 0 }

func newSwarm(c *chooser) (s swarm) {
	for f := range features {
		seldom := 3
		switch f {
		case secured: // its handshake takes longer than the rest of a history
			seldom = 12
		case balances, hedges, seals: // they take more steps than most
			seldom = 8
		}
		if c.rarely(seldom) {
			s |= 1 << f
		}
	}
	if s.has(secured) {
		s &^= 1<<plainConns | 1<<layered | 1<<smallRoom | 1<<shortWrites // see secure
	}
	if s.has(seals) {
		s &^= 1<<plainConns | 1<<layered | 1<<secured
	}
	return s
}

func (s swarm) String() string {
	text := ""
	for f := range features {
		if s.has(f) {
			text += ", " + featureNames[f]
		}
	}
	if text == "" {
		return "nothing special"
	}
	return text[2:]
}

// faultKind is what may happen beside the regular.
type faultKind uint8

const (
	faultTime faultKind = iota
	faultStall
	faultGoOn
	faultCut
	faultHalfClose
	faultCancel
	faultVain
	faultStale
	faultDrain
	faultServerClose
	faultClientClose
	faultRestart
	faultRetire
	faultDeaf
	faultCancels
	faultServer
	faultResolver
	faultPauses
	faultChannelClose
	faultKinds
)

// fault has one of the faults of the swarm happen, if there is any.
func (w *world) fault() {
	kinds := [...]struct {
		feature feature
		kind    faultKind
	}{
		{timePasses, faultTime},
		{stalls, faultStall},
		{stalls, faultGoOn},
		{cuts, faultCut},
		{halfCloses, faultHalfClose},
		{cancels, faultCancel},
		{vainEvents, faultVain},
		{staleEvents, faultStale},
		{drains, faultDrain},
		{closes, faultServerClose},
		{closes, faultClientClose},
		{restarts, faultRestart},
		{deadlines, faultTime},
		{keepalives, faultTime},
		{ages, faultTime},
		{retires, faultRetire},
		{halfCloses, faultDeaf},
		{cancels, faultCancels},
		{attempts, faultTime}, // pauses
	}
	list := make([]faultKind, 0, len(kinds))
	for _, k := range kinds {
		if w.swarm.has(k.feature) {
			list = append(list, k.kind)
		}
	}
	if w.swarm.has(hedges) {
		list = append(list, faultTime)
	}
	if b := w.balanced; b != nil {
		list = append(list, faultTime, faultServer, faultServer, faultResolver, faultPauses)
		if w.swarm.has(closes) && !b.closed {
			list = append(list, faultChannelClose)
		}
	}
	if len(list) == 0 {
		w.pass(of(w.c, times...))
		return
	}
	k := list[w.c.pick(len(list))]
	w.points[firstFault+point(k)]++
	switch k {
	case faultTime:
		w.pass(of(w.c, times...))
	case faultRestart:
		if len(w.links) < 3 && w.balanced == nil {
			w.connect()
		}
	case faultServer, faultResolver, faultPauses, faultChannelClose:
		w.balanced.fault(k)
	case faultCancel:
		if len(w.calls) > 0 {
			w.calls[w.c.pick(len(w.calls))].cancel()
		}
	case faultCancels: // at once: a place that one gives up is promised to another that is given up
		for _, k := range w.calls {
			if w.c.pick(3) > 0 {
				k.cancel()
			}
		}
	default:
		if len(w.links) > 0 {
			w.faultOf(w.links[w.c.pick(len(w.links))], k)
		}
	}
}

var times = []time.Duration{
	time.Millisecond, 6 * time.Millisecond, 60 * time.Millisecond, 110 * time.Millisecond,
	time.Second, 6 * time.Second, 11 * time.Second, 40 * time.Second,
}

// faultOf is a fault of one connection.
func (w *world) faultOf(l *link, k faultKind) {
	s := l.ends()[w.c.pick(2)]
	switch k {
	case faultStall:
		s.stalled = true
		w.note(s, "is reached by nothing for a while")
	case faultGoOn:
		s.stalled = false
	case faultCut:
		l.cut(syscall.ECONNRESET)
	case faultHalfClose:
		if !s.closed {
			l.disturb("half-closed")
			_ = s.CloseWrite()
		}
	case faultVain:
		if _, ok := w.kernel.armed[s.fd]; ok && !s.closed {
			w.note(s, "has an event in vain")
			w.kernel.tell(s.fd)
		}
	case faultStale:
		if n := len(w.kernel.stale); n > 0 {
			w.note(s, "an old event comes again")
			w.kernel.events <- w.kernel.stale[w.c.pick(n)]
		}
	case faultDrain:
		if l.server != nil {
			w.note(s, "the server takes leave")
			l.drained = true
			w.program("leave of the server", func() { l.server.Drain("leave") })
		}
	case faultDeaf:
		w.note(s, "can't write any more, which nobody tells its reader")
		l.disturb("a write fails")
		s.deaf = true
	case faultRetire:
		if l.client != nil {
			w.note(s, "the client takes leave")
			l.drained = true
			w.program("leave of the client", func() { l.client.GracefulClose(); l.leftHeard = true })
		}
	case faultServerClose:
		if l.server != nil {
			w.note(s, "the server closes")
			l.disturb("closed by the server")
			w.program("close of the server", func() { l.server.Close(nil) })
		}
	case faultClientClose:
		if l.client != nil {
			w.note(s, "the client closes")
			l.disturb("closed by the client")
			w.program("close of the client", func() { l.client.Close(nil) })
		}
	}
}
