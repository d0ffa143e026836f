// SPDX-License-Identifier: Apache-2.0

package rls

import (
	"errors"
	"time"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal/balancer/done"
	"google.golang.org/grpc/metadata"
)

// headerKey is the metadata key for the header data in an answer of the service.
const headerKey = "x-google-rls-data"

func (p *picker) Pick(info balancer.PickInfo) (balancer.PickResult, error) {
	keys := p.config.keys.build(info, p.lb.opts.Target.Endpoint())
	c := p.lb.choose(cacheKey{info.FullMethodName, text(keys)}, keys)
	if c.err != nil {
		if !errors.Is(c.err, balancer.ErrNoSubConnAvailable) {
			p.lb.metrics.failedPick(info.Ctx, p.config.lookupService)
		}
		return balancer.PickResult{}, c.err
	}
	res, err := c.child.Pick(info)
	told := false
	defer done.GiveBackUnless(&told, res.Done)
	p.lb.metrics.pick(info.Ctx, p.config.lookupService, c, err)
	told = true
	if err != nil {
		return res, err
	}
	if !c.dflt { // the header data of an answer is sent even if it is empty
		res.Metadata = metadata.Join(res.Metadata, metadata.MD{headerKey: []string{c.header}})
	}
	return res, nil
}

// choose decides about an RPC by the answer for its key. It starts a lookup if there is no valid
// answer, or if the answer is stale.
func (b *lb) choose(key cacheKey, keys []rpcKey) choice {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return choice{err: balancer.ErrNoSubConnAvailable}
	}
	now := time.Now()
	e := b.cache.get(key)
	valid := e != nil && e.valid(now)
	_, pending := b.pending[key]
	if !pending && (e == nil || !e.backing(now)) && (!valid || !now.Before(e.stale)) {
		pending = b.request(key, keys, e)
	}
	switch {
	case valid:
		return e.choose()
	case pending:
		return choice{err: balancer.ErrNoSubConnAvailable}
	case b.defaultTarget != nil:
		return choice{child: b.defaultTarget.state.Picker, target: b.defaultTarget.target, dflt: true}
	case e == nil || e.err == nil: // the lookup was not sent
		return choice{err: serviceError(errThrottled)}
	}
	return choice{err: e.err}
}

// serviceError returns the error of RPCs after a lookup has failed with err. It is not a status,
// even if err is one, so RPCs that wait for ready wait for the next lookup.
func serviceError(err error) error {
	return errors.New("most recent error from RLS server: " + err.Error())
}

// choose chooses the first target that is not in TransientFailure, or else the last one.
func (e *answer) choose() choice {
	for i, c := range e.targets {
		if c.state.ConnectivityState != connectivity.TransientFailure || i == len(e.targets)-1 {
			return choice{child: c.state.Picker, target: c.target, header: e.header}
		}
	}
	return choice{err: balancer.ErrNoSubConnAvailable} // never: an answer has a target
}
