// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// picked is where an attempt goes.
type picked struct {
	link    *Link
	result  balancer.PickResult
	delayed bool // it had to wait
	dropped bool // the picker's error had a status: the RPC ends with that
}

// pick asks the picker until it returns a subchannel that is ready, and waits for another
// picker where it doesn't. Unless wait is set (wait for ready) it fails with the picker's
// error, if that is not ErrNoSubConnAvailable. An error is a status.
func (g *pickerGate) pick(info balancer.PickInfo, wait bool) (p picked, err error) {
	var last error // why a picker made the RPC wait
	for {
		turn := g.turn()
		if turn.closed {
			return p, ErrClosing
		}
		if turn.picker != nil {
			result, err := turn.picker.Pick(info)
			switch {
			case err == nil:
				l, waited, err := readyLink(info.Ctx, result)
				p.delayed = p.delayed || waited
				if err != nil {
					return p, pickTimeout(info.Ctx, last)
				}
				if l != nil {
					p.link, p.result = l, result
					return p, nil
				}
				// The subchannel has just been lost: another picker is on its way.
			case err == balancer.ErrNoSubConnAvailable: // an error that wraps it is a failure
			default:
				var final error
				if p.dropped, final = pickError(err, wait); final != nil {
					return p, final
				}
				last = err
			}
		}
		p.delayed = true
		select {
		case <-g.changed(turn):
		case <-doneEarly(info.Ctx):
			return p, pickTimeout(info.Ctx, last)
		}
	}
}

// readyLink returns the connection that was picked, nil if it is not there any more, or
// never was: the RPC then waits for the next picker. Where the subchannel may have several
// it may wait for a place on one of them, until ctx is done: the error is ctx's.
func readyLink(ctx context.Context, r balancer.PickResult) (l *Link, waited bool, err error) {
	sub, ok := r.SubConn.(*Subchannel)
	if !ok {
		logger.Errorf("the balancer picked a %T, which is not a SubConn of this channel", r.SubConn)
		return nil, false, nil
	}
	l = sub.ready.Load()
	if s := sub.scale.Load(); s != nil && l != nil {
		l, waited, err = sub.reserve(ctx, s)
	}
	if l == nil && r.Done != nil {
		r.Done(balancer.DoneInfo{Err: err})
	}
	return l, waited, err
}

// pickError returns what the RPC is to fail with, nil if it waits for the next picker. An
// error that has a status drops the RPC.
func pickError(err error, wait bool) (dropped bool, final error) {
	if _, ok := status.FromError(err); ok {
		return true, ControlPlaneError("received picker error with", err)
	}
	if wait {
		return false, nil
	}
	return false, status.Error(codes.Unavailable, err.Error())
}

func pickTimeout(ctx context.Context, last error) error {
	text := fmt.Sprintf("%v while waiting for connections to become ready", ctx.Err())
	if last != nil {
		text = fmt.Sprintf("latest balancer error: %v", last)
	}
	code := codes.Canceled
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		code = codes.DeadlineExceeded
	}
	return status.Error(code, text)
}

// doneEarly is Done of the context of an RPC that waits here. A stream that is about to begin
// has a cheaper one for that (EarlyDone), which tells of its parent alone; Done would leave it
// with a context of the standard library's for its whole life.
func doneEarly(ctx context.Context) <-chan struct{} {
	if c, ok := ctx.(interface{ EarlyDone() <-chan struct{} }); ok {
		return c.EarlyDone()
	}
	return ctx.Done()
}
