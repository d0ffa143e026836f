// SPDX-License-Identifier: Apache-2.0

package grpc

import (
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
	case a.barred == unsent:
		f.Unsent = true
	case a.stream == nil:
		f.Final = a.barred == dropped || r.ctx.Err() != nil // else the policy goes by the code alone
	default:
		f.Unprocessed = a.stream.Unprocessed()
		f.Final = a.stream.GotHeaders()
		if r.retry.Policy != nil && !f.Unprocessed && !f.Final {
			f.Pushback = retry.PushbackIn(a.stream.Trailer())
		}
	}
	return f
}
