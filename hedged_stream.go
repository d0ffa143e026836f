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

// streamHedges are the attempts of a stream that is hedged, until one counts: hedged_stream.go.
type streamHedges interface {
	// await returns when there is an attempt that counts, or with the error that the RPC ended
	// with.
	await() error
	// send and closeSend send to all attempts. They return false, and take nothing, if there
	// is an attempt that counts.
	send(msg any, out outMessage) bool
	closeSend() bool
	// endLocked ends the race, and waits for its goroutines. mu is free while it waits.
	endLocked()
}

// hedges are the attempts of a stream that is sent several times, until one counts (gRFC
// A6): the first with response headers, or whose end ends the RPC. Each has a goroutine
// until then. What the program sends goes to all of them, and is kept for those to come;
// once that does not fit into the buffer for retries, the attempt counts that began first.
// From then on the stream is like any other, with the attempt that counts as its only one.
//
// A stream that is received by callback (package experimental/streams) is not hedged.
//
// The stream's mu guards what is not immutable.
type hedges struct {
	cs      *clientStream // immutable
	changed sync.Cond     // signalled when a leg opens or ends, and when the RPC is decided

	race    hedge.Race
	timer   *time.Timer // for what comes next in the race
	legs    []*leg      // under way, in the order in which they began
	running int         // their goroutines
	failed  *leg        // the one that failed last
	begun   bool        // an attempt was on its way at some time
	decided bool        // the stream's attempt is the one that counts
	lost    error       // how the RPC ended, if that was before anything was received
}

// hedgeStream begins the RPC, and returns when an attempt is on its way, or with the error that
// the RPC ends with.
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

// run makes attempts until one has response headers, or has failed after a server's
// application saw it.
func (h *hedges) run(l *leg) {
	for {
		err := h.try(l)
		if err == nil || !l.unseen(err) || !h.renew(l, err) {
			h.settle(l, err)
			return
		}
	}
}

// renew gives the leg another attempt, in place of one that failed with err without a server's
// application having seen it. It returns false if the RPC is decided: what was sent is not
// kept any more.
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

// try returns when the attempt has response headers, with nil, or when it is over.
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

// open sends the attempt what has been sent.
func (h *hedges) open(l *leg) {
	cs := h.cs
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if h.decided {
		return // it was stopped
	}
	l.onWay, h.begun = true, true
	i, n := 0, cs.replay.Messages()
	for m := range cs.keptLocked() {
		i++
		l.hand(m, !cs.desc.ClientStreams || cs.replay.Ended() && i == n)
	}
	if cs.replay.Ended() && n == 0 {
		_ = l.attempt.Stream.CloseSend() // whoever receives finds out
	}
	h.changed.Broadcast()
}

// hand sends a message that the stream keeps. It does not wait for room: the buffer for
// retries bounds how much there can be.
func (l *leg) hand(m sentMessage, last bool) {
	m.out.payload.Data.Ref()
	if l.attempt.Stream.Enqueue(m.out.payload, last) == nil { // else it is over, as its goroutine finds out
		l.tellSent(l.attempt, m.msg, m.out.sizes())
	}
}

// settle is the end of a leg's goroutine. Without an error the attempt has response headers, or
// has ended with success.
func (h *hedges) settle(l *leg, err error) {
	cs := h.cs
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
		outcome, delay := l.outcome(cs.ctx, err)
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
	cs.mu.Lock()
	h.running--
	h.changed.Broadcast()
	cs.mu.Unlock()
}

// errOutrun is the status of an attempt that had response headers, but later than another.
var errOutrun = status.Error(codes.Canceled, "grpc: another attempt of a hedged RPC was first")

// decideLocked makes l the attempt that counts. err is how it ended, if it did.
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

// endLocked ends the race of an RPC that is over, and waits for its goroutines. mu is free
// while it waits.
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

// await returns when there is an attempt that counts, or with the error that the RPC ended
// with.
func (h *hedges) await() error {
	cs := h.cs
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for !h.decided {
		h.changed.Wait()
	}
	if cs.attempt.Stream == nil && h.lost == nil { // it was given up
		if cs.failed != nil {
			return cs.failed
		}
		return io.EOF
	}
	return h.lost
}

// send sends a message to all attempts, and keeps it. It returns false, and takes nothing,
// if there is an attempt that counts. One that does not fit into the buffer makes the oldest
// attempt count: it is the one on which most was sent.
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
	m := sentMessage{out: out, msg: msg}
	for _, l := range h.legs {
		if l.onWay {
			l.hand(m, !cs.desc.ClientStreams)
		}
	}
	cs.keepLocked(m)
	return true
}

// narrowLocked lets no other attempt begin, and makes the oldest one with a stream count. If
// there is none it waits, for one or for the end.
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

// closeSend ends what is sent, to all attempts. It returns false if there is one that
// counts.
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
			_ = l.attempt.Stream.CloseSend() // its goroutine finds out
		}
	}
	return true
}
