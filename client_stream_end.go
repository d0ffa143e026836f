// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// contextDone ends the RPC when its context ends.
func (cs *clientStream) contextDone() {
	cs.abort(status.FromContextError(cs.ctx.Err()).Err())
}

// cancelled returns the status of an RPC whose context was cancelled before it ended, nil
// for any other. The caller need not wait for contextDone, which runs on another goroutine:
// once the program has cancelled the context nothing succeeds.
func (cs *clientStream) cancelled() error {
	if cs.ctx.Err() != context.Canceled { // what follows a deadline is left to contextDone
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
	cs.abort(err)
	cs.awaitEnd()
	return err
}

// abort ends the RPC with err.
func (cs *clientStream) abort(err error) {
	cs.own.cancel() // a retry that waits with mu held gives up
	cs.current().Fail(err)
	cs.finishOnce(err)
}

// abandon ends the RPC with err because its channel is closed, for a goroutine that may be in the program's own
// code: it waits for nothing. A retry may call that code with mu held, and who is told of the end may need a
// lock that the program holds while it calls Close. When it returns the RPC has ended but for a retry under way.
func (cs *clientStream) abandon(err error) {
	cs.own.cancel()
	if !cs.mu.TryLock() {
		go cs.abort(err)
		return
	}
	a, stop, first := cs.markLocked(err)
	cs.mu.Unlock()
	if !first {
		return
	}
	a.Fail(err)
	if len(cs.stats) > 0 || len(cs.info.onFinish) > 0 {
		go cs.tellFinished(a, stop, err)
		return
	}
	cs.tellFinished(a, stop, err)
}

// awaitEnd waits until another goroutine, which has finished the RPC, has filled what call options
// point to, and told stats handlers: the program may look at both once a function has returned
// how the RPC ended.
func (cs *clientStream) awaitEnd() {
	cs.ending.Lock()
	defer cs.ending.Unlock()
}

// finish ends the RPC, unless it has ended. io.EOF stands for success.
func (cs *clientStream) finish(err error) {
	if !cs.finishOnce(err) {
		cs.awaitEnd()
	}
}

// finishOnce is finish for those who tell the program nothing. It reports whether the RPC ends by it.
func (cs *clientStream) finishOnce(err error) bool {
	if errors.Is(err, io.EOF) {
		err = nil
	}
	cs.mu.Lock()
	a, stop, first := cs.markLocked(err)
	cs.mu.Unlock()
	if first {
		cs.tellFinished(a, stop, err)
	}
	return first
}

// markLocked makes err, or success if it is nil, how the RPC ends. Where it is the first, tellFinished has to follow
// without mu, with the last attempt and what ends the watch of the context.
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

// tellFinished tells everybody of the end that was marked. mu is not held.
func (cs *clientStream) tellFinished(a *attempt, stop func() bool, err error) {
	if stop != nil {
		stop()
	}
	cs.settle(a, err)
	cs.cc.streams.remove(cs)
	cs.clientCall.leave(err)
	cs.own.cancel()
}

// settle tells how the RPC ended, for which others wait.
func (cs *clientStream) settle(a *attempt, err error) {
	defer cs.ending.Unlock()
	if err != nil {
		a.Fail(err)
	}
	cs.end(a, err)
	cs.clientCall.conclude(a, err)
}
