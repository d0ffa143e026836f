// SPDX-License-Identifier: Apache-2.0

package grpc

import "context"

// open begins an RPC for which enter was called.
func (cs *clientStream) open(config *MethodConfig) (ClientStream, error) {
	err := cs.begin(config)
	if err == nil {
		cs.tellBegun()
		cs.own.parent = cs.ctx
		cs.ctx = &cs.own
		cs.own.begun = cs.hedging != nil    // one attempt may end another that still waits
		cs.call.Watched = cs.hedging == nil // by contextDone
		err = cs.beginAttempts()
	}
	if err != nil {
		cs.clientCall.finish(cs.attempt, err)
		if cs.own.parent != nil {
			cs.own.cancel()
		}
		return nil, err
	}
	cs.own.begin()
	if !cs.cc.streams.add(cs) {
		cs.abort(ErrClientConnClosing)
		return nil, ErrClientConnClosing
	}
	if cs.own.parent.Done() == nil {
		return cs, nil
	}
	stop := context.AfterFunc(cs.own.parent, cs.contextDone)
	cs.mu.Lock()
	cs.stopWatch = stop
	if cs.finished { // meanwhile, and finish did not see stopWatch
		stop()
	}
	cs.mu.Unlock()
	return cs, nil
}

// beginAttempts returns when an attempt is on its way.
func (cs *clientStream) beginAttempts() error {
	if cs.hedging != nil && !cs.isHeld() {
		return hedgeStream(cs)
	}
	return cs.firstAttempt()
}

// firstAttempt makes attempts until one of them is on its way.
func (cs *clientStream) firstAttempt() error {
	for {
		cs.attempt = &attempt{}
		err := cs.start(cs.attempt, nil, false)
		if err == nil {
			return nil
		}
		v := cs.judge(cs.attempt, err)
		cs.end(cs.attempt, err)
		if !v.Retry {
			return v.Explain(err)
		}
		if err := cs.cc.channel.Pause(cs.ctx, v.Delay); err != nil {
			return err
		}
	}
}
