// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"time"

	"google.golang.org/grpc/internal/retry"
	"google.golang.org/grpc/status"
)

// judge decides whether there is another attempt after a, which failed with err.
func (r *clientCall) judge(a *attempt, err error) retry.Verdict {
	if r.fixed == nil {
		r.again = r.retry.Decide(r.failure(a, err))
		return r.again
	}
	return retry.Verdict{}
}

// failure gathers what the decision depends on.
func (r *clientCall) failure(a *attempt, err error) retry.Failure {
	f := retry.Failure{Status: status.Convert(err)}
	switch {
	case a.unsent:
		f.Unsent = true
	case a.stream == nil:
		f.Final = a.dropped || r.ctx.Err() != nil // else the policy goes by the code alone
	default:
		f.Unprocessed = a.stream.Unprocessed()
		f.Final = a.stream.GotHeaders()
		if r.retry.Policy != nil && !f.Unprocessed && !f.Final {
			f.Pushback = retry.PushbackIn(a.stream.Trailer())
		}
	}
	return f
}

// pause waits before another attempt. An error is a status: the RPC ended meanwhile.
func (r *clientCall) pause(d time.Duration) error {
	if err := r.ctx.Err(); err != nil {
		return status.FromContextError(err).Err()
	}
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	for {
		turn := r.cc.picks.turn()
		if turn.closed {
			return ErrClientConnClosing
		}
		select {
		case <-t.C:
			return nil
		case <-r.ctx.Done():
			return status.FromContextError(r.ctx.Err()).Err()
		case <-r.cc.picks.changed(turn): // it may be that the channel closes
		}
	}
}
