// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/internal/hedge"
	"google.golang.org/grpc/internal/retry"
	"google.golang.org/grpc/status"
)

// hedgedCall is a unary RPC that is sent several times, to take the answer that comes first
// (gRFC A6). The caller's goroutine owns the hedgedCall, and only that goroutine uses race. Each
// attempt runs on a goroutine of its own, which reports to the caller's through events.
type hedgedCall struct {
	*clientCall
	out        outMessage
	req        any
	logMessage func() // see leg

	race   hedge.Race
	legs   []*leg
	events chan legEvent // has room for all events, so that no leg waits
	open   int           // legs that have not reported their end
	failed *leg          // the leg that failed last
	winner *leg          // the leg that counts
}

// leg is one attempt of a hedged RPC as the policy counts them. It may consist of several attempts:
// one that no server's application has seen is replaced by another.
type leg struct {
	clientCall // a copy, with a call of its own
	attempt    *attempt
	out        outMessage // with a reference of its own to the message
	stop       context.CancelFunc
	logMessage func() // unary RPCs only: logs the message, which the first leg with a stream does; nil if nothing is logged
	throttle   *retry.Throttle
	onWay      bool // streams only: messages can be sent
	over       bool
	err        error // the result, once over is set
}

// legEvent is sent when a leg has response headers, and again when it is over.
type legEvent struct {
	leg  *leg
	over bool
	err  error // the result of a leg that is over; nil for OK
}

// runHedged makes the attempts of an RPC whose message is out. It returns the attempt that counts, and
// how the RPC ended.
func runHedged(r *clientCall, out outMessage, req, reply any) (*attempt, error) {
	race, p := newRace(r)
	h := &hedgedCall{clientCall: r, out: out, req: req, race: race, events: make(chan legEvent, 2*p.Attempts)}
	if r.log != nil {
		// Not before a leg has a stream: an RPC that none has opened is not logged.
		var logged atomic.Bool // not sync.Once, which makes a panic of runtime.Goexit in the log's sink
		h.logMessage = func() {
			if !logged.Swap(true) {
				r.logSent(out.sizes())
			}
		}
	}
	defer h.leave()
	h.send(0)
	var err error
	for h.winner == nil && err == nil {
		err = h.step()
	}
	for _, l := range h.legs {
		if l != h.winner {
			l.stop()
		}
	}
	for h.open > 0 {
		h.take(<-h.events)
	}
	if err != nil {
		h.failed.attempt.superseded = true
		return h.failed.attempt, err
	}
	w := h.winner
	if err = w.err; err == nil {
		err = w.receive(w.attempt, reply)
	} else {
		w.attempt.Fail(err) // a message may have come before the status
	}
	w.end(w.attempt, err)
	return w.attempt, err
}

// leave stops all legs. If a stats handler or a codec of the program has left the RPC, by a panic or runtime.Goexit,
// it waits for legs that are under way, and ends those that have not ended.
func (h *hedgedCall) leave() {
	for _, l := range h.legs {
		l.stop()
		defer h.abandon(l) // each of them, also if a stats handler panics again
	}
	for h.open > 0 {
		if e := <-h.events; e.over {
			h.open--
		}
	}
}

// abandon ends a leg that is over, if it has not ended.
func (h *hedgedCall) abandon(l *leg) {
	if l.attempt.Ended() {
		return
	}
	if l != h.winner {
		l.log = nil
	}
	l.attempt.Fail(errUnreturned)
	l.end(l.attempt, errUnreturned)
}

// step waits for the next event, or until the next attempt is due. An error says that the RPC ended
// during that wait, while no attempt was under way.
func (h *hedgedCall) step() error {
	at, more := h.race.Next()
	if h.open == 0 {
		if err := h.cc.channel.Pause(h.ctx, time.Until(at)); err != nil {
			return err
		}
		h.due()
		return nil
	}
	var timer <-chan time.Time
	if more {
		t := time.NewTimer(time.Until(at))
		defer t.Stop()
		timer = t.C
	}
	select {
	case e := <-h.events:
		h.take(e)
	case <-timer:
		h.due()
	}
	return nil
}

// due begins the next attempt, unless the throttle forbids it.
func (h *hedgedCall) due() {
	n := h.race.Begun()
	switch begin, lost := h.race.Due(time.Now(), h.retry.Throttle.Throttled()); {
	case begin:
		h.send(n)
	case lost:
		h.winner = h.failed
	}
}

// send begins the attempt that follows n others.
func (h *hedgedCall) send(n int) {
	l := newLeg(h.clientCall, n)
	l.out = h.out
	l.out.payload.Data.Ref()
	l.logMessage = h.logMessage
	h.legs = append(h.legs, l)
	h.open++
	go l.run(h.req, h.events)
}

// newLeg returns the attempt of r that follows n others.
func newLeg(r *clientCall, n int) *leg {
	l := &leg{clientCall: *r, attempt: &attempt{}}
	l.retry, l.throttle, l.onCommit = r.retry.Leg(n), r.retry.Throttle, nil
	l.waited, l.beside = r.waited && n == 0, n > 0
	l.info.identity.Hedged = true
	call := *r.call
	call.Auth, call.Picked = nil, nil
	l.call = &call
	l.ctx, l.stop = context.WithCancel(r.ctx)
	return l
}

// maxHedges limits the attempts of a hedged RPC where the program sets no limit (WithMaxCallAttempts(math.MaxInt)).
const maxHedges = 1000

// newRace begins the race of an RPC that is hedged.
func newRace(r *clientCall) (hedge.Race, hedge.Policy) {
	p := hedge.Policy{Attempts: min(r.hedging.MaxAttempts, r.cc.opts.maxAttempts, maxHedges), Delay: r.hedging.HedgingDelay}
	r.retry.Hedge()
	return hedge.Start(p, time.Now()), p
}

// take handles an event.
func (h *hedgedCall) take(e legEvent) {
	l := e.leg
	if !e.over {
		if h.race.Committed() {
			h.winner = l
		}
		return
	}
	h.open--
	l.over, l.err = true, e.err
	if h.winner == nil {
		outcome, delay := l.outcome(h.ctx.Err() != nil, l.err)
		if h.race.Ended(time.Now(), outcome, delay) {
			h.winner = l
		}
	}
	if h.winner != l {
		h.failed = l
		if l.err == nil { // its message came later than another one; its stream may still be open
			l.err = errOutrun
		}
		l.attempt.Fail(l.err) // also drops a message that came before a status
		if h.winner != nil {
			l.log = nil // the binary log has one response: the winner's
		}
		l.end(l.attempt, l.err)
		l.stop()
	}
}

// outcome returns what the policy makes of a leg that ended with err. expired says that the RPC's context has ended.
// It counts failures in the channel's throttle: those with "a non-fatal status code, or that
// receive a pushback response indicating not to retry".
func (l *leg) outcome(expired bool, err error) (hedge.Outcome, time.Duration) {
	if err == nil {
		return hedge.Success, 0
	}
	var push retry.Pushback
	if s := l.attempt.Stream; s != nil {
		push = retry.PushbackIn(s.Trailer())
	}
	nonFatal := l.hedging.NonFatalStatusCodes[status.Code(err)] && !l.attempt.Dropped() && !expired
	if nonFatal || push.Never {
		l.throttle.Failed()
	}
	switch {
	case !nonFatal:
		return hedge.Fatal, 0
	case push.Never:
		return hedge.NoMore, 0
	case push.Said:
		return hedge.Later, push.Delay
	}
	return hedge.NonFatal, 0
}

// run makes an attempt, and replaces it by another as long as no server's application has seen the last one.
func (l *leg) run(req any, events chan<- legEvent) {
	result := errUnreturned
	defer func() { // also if a stats handler ends the goroutine
		if result == errUnreturned {
			l.attempt.Fail(result)
		}
		l.out.payload.Data.Free()
		events <- legEvent{leg: l, over: true, err: result}
	}()
	for {
		l.attempt = &attempt{}
		err := l.try(req, events)
		if err == nil || !l.unseen(err) {
			result = err
			return
		}
		l.end(l.attempt, err)
	}
}

// unseen reports whether the attempt failed before a server's application saw it, so that another
// attempt may replace it.
func (l *leg) unseen(err error) bool {
	if s := l.attempt.Stream; s != nil && s.GotHeaders() || l.ctx.Err() != nil {
		return false
	}
	return l.judge(l.attempt, err).Retry
}

// try makes one attempt. It leaves the message of the response for the caller's goroutine.
func (l *leg) try(req any, events chan<- legEvent) error {
	a := l.attempt
	size, payload := l.out.sizes(), l.out.payload
	payload.Data.Ref()
	if err := l.start(a, &payload, true); err != nil {
		return err
	}
	if l.logMessage != nil {
		l.logMessage()
	}
	l.tellSent(a, req, size)
	a.Stream.Header()
	if a.Stream.GotHeaders() {
		events <- legEvent{leg: l}
	}
	a.Stream.AwaitReply()
	return a.result().Err()
}
