// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"io"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/hedge"
	"google.golang.org/grpc/status"
)

// hedges are the attempts of a hedged stream, until one of them counts (gRFC A6): the first that
// gets response headers, or whose end ends the RPC. Until then each attempt has a goroutine. What
// the program sends goes to all of them, and is kept for later attempts. Once it does not fit into
// the buffer for retries, the attempt that began first counts. From then on the stream is like any
// other, with the attempt that counts as its only one.
//
// A stream that is received by callback (package experimental/streams) is not hedged.
//
// The stream's mu guards all fields that are not immutable.
type hedges struct {
	cs      *clientStream // immutable
	changed sync.Cond     // signalled when a leg opens or ends, and when the RPC is decided

	race    hedge.Race
	timer   *time.Timer // fires when the race's next attempt is due
	legs    []*leg      // under way, in the order in which they began
	running int         // how many goroutines of legs run
	failed  *leg        // the leg that failed last
	begun   bool        // an attempt has been on its way
	decided bool        // cs.attempt is the attempt that counts, or the RPC is over
	lost    error       // the error of the RPC, if it ended before anything was received
}

// hedgeStream begins the RPC, and waits until an attempt is on its way. An error is the one that the
// RPC ended with.
func hedgeStream(cs *clientStream) error {
	h := &hedges{cs: cs}
	h.changed.L = &cs.mu
	cs.hedges = h
	cs.attempt = &attempt{} // a placeholder until one counts
	cs.attempt.End(nil)
	cs.mu.Lock()
	h.race, _ = newRace(&cs.clientCall)
	h.beginLocked(0)
	h.timer = time.AfterFunc(time.Hour, h.due)
	h.rearmLocked()
	for !h.decided && !h.begun {
		h.changed.Wait()
	}
	if h.lost == nil {
		cs.mu.Unlock()
		return nil
	}
	h.endLocked()
	a := cs.attempt
	cs.mu.Unlock()
	cs.end(a, h.lost)
	return h.lost
}

// beginLocked begins the attempt that follows n others.
func (h *hedges) beginLocked(n int) {
	l := newLeg(&h.cs.clientCall, n)
	l.log = nil // the stream tells the log
	h.legs = append(h.legs, l)
	h.running++
	go h.run(l)
}

// rearmLocked sets the timer.
func (h *hedges) rearmLocked() {
	if at, ok := h.race.Next(); ok && !h.decided {
		h.timer.Reset(time.Until(at))
	}
}

// due is called when it is time for another attempt.
func (h *hedges) due() {
	h.cs.mu.Lock()
	defer h.cs.mu.Unlock()
	if h.decided {
		return
	}
	n := h.race.Begun()
	switch begin, lost := h.race.Due(time.Now(), h.cs.retry.Throttle.Throttled()); {
	case begin:
		h.beginLocked(n)
	case lost:
		h.decideLocked(h.failed, h.failed.err)
	}
	h.rearmLocked()
}

// run makes attempts until one has response headers or success, or has failed after a server's
// application saw it.
func (h *hedges) run(l *leg) {
	defer h.ended()
	result := errUnreturned
	defer func() { // also if a stats handler ends the goroutine
		if result == errUnreturned {
			l.attempt.Fail(result)
		}
		h.settle(l, result)
	}()
	for {
		err := h.try(l)
		if err == nil || !l.unseen(err) || !h.renew(l, err) {
			result = err
			return
		}
	}
}

// renew replaces the leg's attempt, which failed with err before a server's application saw it, by a
// new one. It returns false if the RPC is decided: what was sent is then no longer kept.
func (h *hedges) renew(l *leg, err error) bool {
	h.cs.mu.Lock()
	if h.decided {
		h.cs.mu.Unlock()
		return false
	}
	before := l.attempt
	l.attempt, l.onWay = &attempt{}, false
	h.cs.mu.Unlock()
	l.end(before, err)
	return true
}

// try makes an attempt. It returns nil when the attempt has response headers, or its result when it is over.
func (h *hedges) try(l *leg) error {
	a := l.attempt
	if err := l.start(a, nil, false); err != nil {
		return err
	}
	h.open(l)
	a.Stream.Header()
	if a.Stream.GotHeaders() {
		return nil
	}
	a.Stream.AwaitEnd()
	return a.result().Err()
}

// open marks the leg as on its way, and sends it what the stream has sent so far.
func (h *hedges) open(l *leg) {
	cs := h.cs
	cs.log.Opened()
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if h.decided {
		return // the leg has been stopped
	}
	l.onWay, h.begun = true, true
	i, n := 0, cs.replay.Messages()
	for m := range cs.keptLocked() {
		i++
		if l.hand(m, !cs.desc.ClientStreams || cs.replay.Ended() && i == n) {
			l.tellSent(l.attempt, m.msg, m.out.sizes())
		}
	}
	if cs.replay.Ended() && n == 0 {
		_ = l.attempt.Stream.CloseSend() // the receiver will find out
	}
	h.changed.Broadcast()
}

// hand sends a message that the stream keeps. It does not wait for room: the size of the buffer for
// retries limits how much there can be. It returns false if the attempt is over, as the leg's goroutine finds out.
func (l *leg) hand(m sentMessage, last bool) bool {
	m.out.payload.Data.Ref()
	return l.attempt.Stream.Enqueue(m.out.payload, last) == nil
}

// settle is the last step of a leg's goroutine but ended. A nil error means that the attempt has response
// headers, or has ended with success.
func (h *hedges) settle(l *leg, err error) {
	cs := h.cs
	expired := cs.ctx.Err() != nil // without the lock: the context is the program's
	cs.mu.Lock()
	l.over, l.err = true, err
	if i := slices.Index(h.legs, l); i >= 0 {
		h.legs = slices.Delete(h.legs, i, i+1)
	}
	switch {
	case h.decided:
	case err == nil:
		h.race.Committed()
		h.decideLocked(l, nil)
	default:
		outcome, delay := l.outcome(expired, err)
		if h.race.Ended(time.Now(), outcome, delay) {
			h.decideLocked(l, err)
		} else {
			h.failed = l
			h.rearmLocked()
		}
	}
	counts := cs.attempt == l.attempt
	cs.mu.Unlock()
	if !counts {
		if err == nil {
			err = errOutrun
			l.attempt.Fail(err)
		}
		l.end(l.attempt, err)
		l.stop()
	}
}

// ended tells those who wait for them that one of the legs' goroutines is over.
func (h *hedges) ended() {
	h.cs.mu.Lock()
	defer h.cs.mu.Unlock()
	h.running--
	h.changed.Broadcast()
}

// errOutrun is the status of an attempt that got response headers, but later than another one.
var errOutrun = status.Error(codes.Canceled, "grpc: another attempt of a hedged RPC was first")

// decideLocked makes l the attempt that counts. err is its error if it has failed, otherwise nil.
func (h *hedges) decideLocked(l *leg, err error) {
	h.decided, h.lost = true, err
	h.cs.attempt = l.attempt
	h.timer.Stop()
	for _, other := range h.legs {
		if other != l {
			other.stop()
		}
	}
	h.cs.commitLocked()
	h.changed.Broadcast()
}

// endLocked ends the race of an RPC that is over, and waits for its goroutines. It unlocks mu while it
// waits.
func (h *hedges) endLocked() {
	if !h.decided {
		h.decided = true
		h.timer.Stop()
		h.changed.Broadcast()
	}
	for _, l := range h.legs {
		l.stop()
	}
	for h.running > 0 {
		h.changed.Wait()
	}
}

// await waits until there is an attempt that counts. An error is the one that the RPC ended with.
func (h *hedges) await() error {
	cs := h.cs
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for !h.decided {
		h.changed.Wait()
	}
	if cs.attempt.Stream == nil && h.lost == nil { // the RPC was given up
		if cs.failed != nil {
			return cs.failed
		}
		return io.EOF
	}
	return h.lost
}

// send sends a message to all attempts, and keeps it. If there already is an attempt that counts, send
// returns false and does not take out over. A message that does not fit into the buffer makes the
// oldest attempt count: most has been sent on it.
func (h *hedges) send(msg any, out outMessage) bool {
	cs := h.cs
	cs.mu.Lock()
	defer cs.mu.Unlock()
	size := keptSize(&out)
	for !h.decided && !cs.replay.Fits(size, cs.info.retryBuffer) {
		h.narrowLocked()
	}
	if h.decided {
		return false
	}
	m, n := sentMessage{out: out, msg: msg}, out.sizes()
	var sent []*leg
	for _, l := range h.legs {
		if l.onWay && l.hand(m, !cs.desc.ClientStreams) {
			sent = append(sent, l)
		}
	}
	cs.keepLocked(m)
	for _, l := range sent { // last, as a stats handler may panic: each attempt has the message nevertheless
		l.tellSent(l.attempt, msg, n)
	}
	return true
}

// narrowLocked lets no other attempt begin, and makes the oldest attempt with a stream count. If
// none has a stream, it waits for a change: a stream, or the end of a leg or the RPC.
func (h *hedges) narrowLocked() {
	lost := h.race.Close()
	i := slices.IndexFunc(h.legs, func(l *leg) bool { return l.onWay })
	switch {
	case i >= 0:
		h.race.Committed()
		h.decideLocked(h.legs[i], nil)
	case lost:
		h.decideLocked(h.failed, h.failed.err)
	default:
		h.changed.Wait()
	}
}

// closeSend does what CloseSend does on all attempts, also on later ones. If there already is an attempt that
// counts (see hedges), or the RPC is over, closeSend does nothing and returns false.
func (h *hedges) closeSend() bool {
	cs := h.cs
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if h.decided {
		return false
	}
	cs.replay.KeepEnd()
	for _, l := range h.legs {
		if l.onWay {
			_ = l.attempt.Stream.CloseSend() // the leg's goroutine finds out
		}
	}
	return true
}
