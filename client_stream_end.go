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
	cs.mu.Lock()
	cs.abortLocked(err)
}

// tryAbort is abort for a goroutine that may be in the program's own code, which a retry calls with mu
// held. It reports whether mu was free.
func (cs *clientStream) tryAbort(err error) bool {
	cs.own.cancel()
	free := cs.mu.TryLock()
	if free {
		cs.abortLocked(err)
	}
	return free
}

// abortLocked ends the RPC with err, and unlocks mu.
func (cs *clientStream) abortLocked(err error) {
	a := cs.attempt
	cs.mu.Unlock()
	a.Fail(err)
	cs.finishOnce(err)
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
	if cs.finished {
		cs.mu.Unlock()
		return false
	}
	cs.ending.Lock()
	cs.finished, cs.failed = true, err
	if cs.hedges != nil {
		cs.hedges.endLocked()
	}
	cs.commitLocked()
	a, stop := cs.attempt, cs.stopWatch
	cs.mu.Unlock()
	if stop != nil {
		stop()
	}
	cs.settle(a, err)
	cs.cc.streams.remove(cs)
	cs.clientCall.leave(err)
	cs.own.cancel()
	return true
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
