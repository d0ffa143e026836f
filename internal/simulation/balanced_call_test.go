// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"
	"sync/atomic"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal/channel"
	"google.golang.org/grpc/internal/retry"
	"google.golang.org/grpc/status"
)

// attempt makes a call over the channel, as an RPC does.
func (b *balanced) attempt(k *call) {
	ctx, cancel := k.context()
	defer cancel()
	a := &channel.Attempt{}
	var err error
	defer func() { a.End(err) }()
	k.verdict = func(s *retry.State) retry.Verdict { return a.Judge(context.Background(), s, err) } // whether it was given up is looked at before
	c := k.request()
	b.ch.BeginRPC()
	defer b.ch.EndRPC()
	atomic.StoreInt32(&k.picking, 1)
	_, err = b.ch.Choose(ctx, c.Method, func() bool { return k.waits })
	was, delayed := b.ch.State(), true
	if err == nil {
		delayed, err = a.Pick(ctx, &b.ch, c, k.waits)
	}
	atomic.StoreInt32(&k.picking, 0)
	b.w.yield(atProgram, nil)
	if err != nil {
		b.notPicked(k, err, !delayed && was != connectivity.TransientFailure)
		return
	}
	k.link = b.linkOf(a.Link)
	if err = a.Address(ctx, c, &channel.Identity{}); err != nil {
		b.w.fail("call %d has no authority: %v", k.n, err)
		return
	}
	first, last := k.firstMessage()
	k.opens()
	err = a.Open(ctx, c, first, last)
	b.w.yield(atProgram, k.link.near)
	k.opened(ctx, a.Stream, err, status.Code(err) == codes.Unavailable, last)
	if err == nil {
		err = a.Result(ctx).Err()
	}
}

// notPicked follows a call that was given no connection. sudden says that the channel had none of the states in
// which it may say so at once.
func (b *balanced) notPicked(k *call, err error, sudden bool) {
	w := b.w
	w.note(nil, "call %d is given no connection: %v", k.n, err)
	k.over, k.senderDone, k.openErr, k.status = true, true, err, status.Code(err)
	w.points[firstStatus+point(k.status)]++
	allowed := false
	switch k.status {
	case codes.Canceled:
		allowed = k.cancelled || b.closed
	case codes.DeadlineExceeded:
		allowed = k.late()
	case codes.Unavailable:
		allowed = !k.waits && !sudden && b.troubled()
	}
	if !allowed {
		w.fail("call %d was given no connection, and nothing was wrong: waits for ready %v, at once %v: %v", k.n, k.waits, sudden, err)
	}
}

// troubled reports whether calls may find no server: one has refused, or a connection was lost, or the resolver
// has found nothing.
func (b *balanced) troubled() bool {
	if b.failures > 0 || b.w.passed >= minConnect {
		return true
	}
	for _, l := range b.w.links {
		if l.mayEnd() || l.leaves() {
			return true
		}
	}
	return false
}
