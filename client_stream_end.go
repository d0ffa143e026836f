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
	cs.abort(status.FromContextError(cs.ctx.Err()).Err())
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
	cs.abort(status.FromContextError(context.Canceled).Err())
	cs.awaitEnd()
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return cs.failed
}

// abort ends the RPC with err, unless it ends with another error already.
func (cs *clientStream) abort(err error) {
	err = cs.abortion(err)
	cs.own.cancel() // ends the wait of a retry, which holds mu
	stop(cs.current(), err)
	cs.finishOnce(err)
}

// stop ends a with err. If that is because the context has ended, what has come before can still be received.
func stop(a *attempt, err error) {
	if isOfContext(err) {
		a.Stop(err)
	} else {
		a.Fail(err)
	}
}

// isOfContext reports whether err, which an RPC was ended with, says that its context has ended.
func isOfContext(err error) bool {
	code := status.Code(err)
	return code == codes.DeadlineExceeded || code == codes.Canceled && err != ErrClientConnClosing
}

// abortion returns the error of the first call of abort or abandon, which may be this one, with err. The
// caller stores it before it cancels own: a goroutine that notices only the cancellation says how the RPC ends.
func (cs *clientStream) abortion(err error) error {
	cs.aborted.CompareAndSwap(nil, &err)
	return *cs.aborted.Load()
}

// abandon ends the RPC with err because its channel is closed. It runs none of the program's own code, as its
// caller may hold a lock that this code needs: stats handlers, pickers, the sink of a binary log and OnFinish
// functions are told by another goroutine. So is all else if a retry is under way, which may run such code
// while it holds mu, or if the RPC is hedged, as markLocked waits for its attempts.
func (cs *clientStream) abandon(err error) {
	err = cs.abortion(err)
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
	defer cs.mu.Unlock()
	switch code := status.Code(cs.failed); {
	case code == codes.DeadlineExceeded, isOfContext(cs.failed) && status.Code(err) != codes.DeadlineExceeded:
		return err
	case cs.failed != nil:
		return cs.failed
	}
	return err
}

// finishOnce is finish for callers that report nothing to the program, and so need not wait for another
// goroutine that has finished the RPC. It reports whether this call has ended the RPC.
func (cs *clientStream) finishOnce(err error) bool {
	if err == io.EOF {
		err = nil
	}
	cs.mu.Lock()
	a, stop, first := cs.markLocked(err)
	cs.mu.Unlock()
	if first {
		cs.tellFinished(a, stop)
	}
	return first
}

// markLocked records that the RPC ends with err, or with success if err is nil. An error of an RPC that abort
// is about to end may only come of that, so the error that was given to abort takes its place. If first is
// true, the caller must unlock mu and then call tellFinished with last, the last attempt, and stop, which ends
// the watch of the context.
func (cs *clientStream) markLocked(err error) (last *attempt, stop func() bool, first bool) {
	if cs.finished {
		return nil, nil, false
	}
	cs.ending.Lock()
	if cause := cs.aborted.Load(); cause != nil && err != nil && !isLater(*cause, err) {
		err = *cause
	}
	cs.finished, cs.failed = true, err
	if cs.hedges != nil {
		cs.hedges.endLocked()
	}
	cs.commitLocked()
	return cs.attempt, cs.stopWatch, true
}

// isLater reports whether cause is the end of the context, which came once the server's status err had arrived.
func isLater(cause, err error) bool {
	return isOfContext(cause) && status.Code(err) != codes.Canceled &&
		(status.Code(cause) == codes.DeadlineExceeded || status.Code(err) != codes.DeadlineExceeded)
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

// answered ends an RPC that an interceptor has ended before it began.
func (cs *clientStream) answered(err error) {
	defer cs.leave(err) // also if code of the program panics
	cs.conclude(nil, err)
}

func (cs *clientStream) leave(err error) {
	if cs.apart.Load() {
		go cs.clientCall.leave(err)
		return
	}
	cs.clientCall.leave(err)
}

// settle tells everybody but the OnFinish functions how the RPC ended, and then unlocks ending.
func (cs *clientStream) settle(a *attempt, err error) {
	defer cs.ending.Unlock()
	if err != nil {
		stop(a, err)
	}
	defer cs.clientCall.conclude(a, err)
	cs.end(a, err)
}
