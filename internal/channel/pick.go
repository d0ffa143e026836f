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

// picked is the result of a pick: the connection that an attempt uses.
type picked struct {
	link    *Link
	result  balancer.PickResult
	delayed bool // the pick had to wait
	dropped bool // the picker's error was a status: the RPC ends with it
}

// pick asks the picker for a subchannel, and waits for the next picker as long as it gets none that
// is ready. It fails with the picker's error if that is a status, or if wait (wait for ready) is
// false and the error is not ErrNoSubConnAvailable. An error is a status.
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
			case err == balancer.ErrNoSubConnAvailable: // an error that merely wraps it is a failure
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

// readyLink returns the connection of the subchannel that was picked. It returns nil if the
// subchannel has no connection, or none of this channel was picked: the RPC then waits for the next
// picker. If the subchannel may have several connections, readyLink may wait for a place on one of
// them. The error is ctx's, if ctx ends first.
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

// pickError returns the error that the RPC fails with, or nil if the RPC waits for the next picker.
// A picker's error that is a status drops the RPC.
func pickError(err error, wait bool) (dropped bool, final error) {
	if _, ok := status.FromError(err); ok {
		return true, controlPlaneError("received picker error with", err)
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

// doneEarly returns a channel that is closed when ctx, the context of an RPC that waits, is done.
// The context of a stream that has not begun has EarlyDone for this, which follows its parent
// alone. Its Done costs more: it makes a context of the standard library that the stream keeps for
// its whole life.
func doneEarly(ctx context.Context) <-chan struct{} {
	if c, ok := ctx.(interface{ EarlyDone() <-chan struct{} }); ok {
		return c.EarlyDone()
	}
	return ctx.Done()
}
