// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"io"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// contextDone ends the RPC when its context ends.
func (cs *clientStream) contextDone() {
	err := status.FromContextError(cs.ctx.Err()).Err()
	cs.abortFor(&abortion{cs.intercepted.insteadOf(cs.own.parent, err), true})
}

// cancelled returns the status of an RPC whose context was cancelled before the RPC ended, and nil
// for any other. With it the caller need not wait for contextDone, which runs on another
// goroutine: once the program has cancelled the context nothing is sent, and nothing arrives.
func (cs *clientStream) cancelled() error {
	if cs.ctx.Err() != context.Canceled { // a deadline is left to contextDone
		return nil
	}
	cs.mu.Lock()
	finished, failed := cs.finished, cs.failed
	cs.mu.Unlock()
	if finished { // finish cancels the context itself
		if status.Code(failed) == codes.Canceled {
			cs.awaitEnd()
			return failed
		}
		return nil
	}
	err := status.FromContextError(context.Canceled).Err()
	cs.abortFor(&abortion{cs.intercepted.insteadOf(cs.own.parent, err), true})
	cs.awaitEnd()
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return cs.failed
}

// abortion is why an RPC is ended before its end has come.
type abortion struct {
	err       error
	ofContext bool // its context has ended: what has come before can still be received
}

// abort ends the RPC with err, unless it ends with another error already.
func (cs *clientStream) abort(err error) { cs.abortFor(&abortion{err: err}) }

func (cs *clientStream) abortFor(why *abortion) {
	why = cs.abortion(why)
	cs.own.cancel() // ends the wait of a retry, which holds mu
	cs.stop(cs.current(), why.err)
	cs.finishOnce(why.err)
}

// stop ends a with err, with which the RPC ends.
func (cs *clientStream) stop(a *attempt, err error) {
	if cs.isOfContext(err) {
		a.Stop(err)
	} else {
		a.Fail(err)
	}
}

// isOfContext reports whether the RPC ends with err because its context has ended. Another goroutine than that of
// contextDone may be the first to notice: then err says so.
func (cs *clientStream) isOfContext(err error) bool {
	if why := cs.aborted.Load(); why != nil {
		return why.ofContext
	}
	code := status.Code(err)
	return code == codes.DeadlineExceeded || code == codes.Canceled
}

// abortion returns why, or what was given to an earlier call. The caller stores it before it cancels own: a
// goroutine that notices only the cancellation says how the RPC ends.
func (cs *clientStream) abortion(why *abortion) *abortion {
	cs.aborted.CompareAndSwap(nil, why)
	return cs.aborted.Load()
}

// abandon ends the RPC with err because its channel is closed. It runs none of the program's own code, as its
// caller may hold a lock that this code needs: stats handlers, pickers, the sink of a binary log and OnFinish
// functions are told by another goroutine. So is all else if a retry is under way, which may run such code
// while it holds mu, or if the RPC is hedged, as markLocked waits for its attempts.
func (cs *clientStream) abandon(err error) {
	err = cs.abortion(&abortion{err: err}).err
	cs.own.cancel()
	if cs.hedges != nil || !cs.mu.TryLock() {
		go cs.abort(err)
		return
	}
	a, stop, first := cs.markLocked(err)
	cs.mu.Unlock()
	if first {
		a.Fail(err)
		go cs.tellFinished(a, stop)
	}
}

// awaitEnd waits until the goroutine that has finished the RPC has stored what call options ask for,
// and told stats handlers: the program may look at both once a method of the stream has returned
// how the RPC ended.
func (cs *clientStream) awaitEnd() {
	cs.ending.Lock()
	defer cs.ending.Unlock()
}

// finish ends the RPC, unless it has ended already. io.EOF itself stands for success. When it returns,
// everybody but the OnFinish functions has been told. It returns the error that the RPC has failed with, or
// err if it has not failed. That the context has ended does not replace err: err is the server's status if
// that arrived earlier.
func (cs *clientStream) finish(err error) error {
	if !cs.finishOnce(err) {
		cs.awaitEnd()
	}
	cs.mu.Lock()
	failed := cs.failed
	cs.mu.Unlock()
	if failed == nil || cs.isOfContext(failed) && !isMistaken(failed, err, cs.gotTrailers()) {
		return err
	}
	return failed
}

// gotTrailers reports whether the server has said how the RPC ended.
func (cs *clientStream) gotTrailers() bool {
	a := cs.current()
	return a.Stream != nil && a.Stream.GotTrailers()
}

// isMistaken reports whether err only says that the deadline has passed since the RPC was cancelled, which is cause.
// See channel.Attempt.Result.
func isMistaken(cause, err error, answered bool) bool {
	return !answered && status.Code(err) == codes.DeadlineExceeded && status.Code(cause) == codes.Canceled
}

// finishOnce is finish for callers that report nothing to the program, and so need not wait for another
// goroutine that has finished the RPC. It reports whether this call has ended the RPC.
func (cs *clientStream) finishOnce(err error) bool {
	if err == io.EOF {
		err = nil
	}
	if why := cs.aborted.Load(); why != nil && err != nil && !why.follows(err, cs.gotTrailers()) {
		err = why.err
	} else if cs.intercepted != nil && !cs.gotTrailers() { // the transport may have seen the end of the context first
		err = cs.intercepted.insteadOf(cs.own.parent, err)
	}
	cs.mu.Lock()
	a, stop, first := cs.markLocked(err)
	cs.mu.Unlock()
	if first {
		cs.tellFinished(a, stop)
	}
	return first
}

// follows reports whether the RPC had failed with err before it was aborted. Any other error may only come of that.
func (why *abortion) follows(err error, answered bool) bool {
	return why.ofContext && (answered || status.Code(err) != codes.Canceled) && !isMistaken(why.err, err, answered)
}

// markLocked records that the RPC ends with err, or with success if err is nil. If first is
// true, the caller must unlock mu and then call tellFinished with last, the last attempt, and stop, which ends
// the watch of the context.
func (cs *clientStream) markLocked(err error) (last *attempt, stop func() bool, first bool) {
	if cs.finished {
		return nil, nil, false
	}
	cs.ending.Lock()
	cs.finished, cs.failed = true, err
	if cs.hedges != nil {
		cs.hedges.endLocked()
	}
	cs.commitLocked()
	return cs.attempt, cs.stopWatch, true
}

// tellFinished tells everybody of the end that markLocked recorded. The caller must not hold mu.
func (cs *clientStream) tellFinished(a *attempt, stop func() bool) {
	err := cs.failed // it does not change any more
	if stop != nil {
		stop()
	}
	// All of it happens also if code of the program panics.
	defer cs.own.cancel()
	defer cs.leave(err)
	defer cs.cc.streams.remove(cs)
	cs.settle(a, err)
}

// finishUnbegun ends an RPC that has not begun: an interceptor has ended it, or its attempts have failed. a is the last of
// these, or nil if there was none.
func (cs *clientStream) finishUnbegun(a *attempt, err error) {
	defer cs.leave(err) // also if code of the program panics
	cs.conclude(a, err)
}

func (cs *clientStream) leave(err error) {
	if cs.apart.Load() && len(cs.info.onFinish) > 0 {
		go cs.clientCall.leave(err)
		return
	}
	cs.clientCall.leave(err)
}

// settle tells everybody but the OnFinish functions how the RPC ended, and then unlocks ending.
func (cs *clientStream) settle(a *attempt, err error) {
	defer cs.ending.Unlock()
	if err != nil {
		cs.stop(a, err)
	}
	defer cs.clientCall.conclude(a, err)
	cs.end(a, err)
}
