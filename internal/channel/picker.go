// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// pickerGate holds the channel's picker, for RPCs to pick with and to wait for the
// next one.
type pickerGate struct {
	current atomic.Pointer[pickerTurn]

	mu     sync.Mutex // held by those who replace it, or wait for that
	closed bool
}

// pickerTurn is one picker for as long as it is the channel's.
type pickerTurn struct {
	picker balancer.Picker // nil: there is none, and RPCs wait
	closed bool            // the channel is closed
	// next is closed when another takes its place; nil while nobody waits for it.
	// The gate's lock guards it.
	next chan struct{}
}

// turn returns the current one.
func (g *pickerGate) turn() *pickerTurn {
	if t := g.current.Load(); t != nil {
		return t
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.current.CompareAndSwap(nil, &pickerTurn{})
	return g.current.Load()
}

// set makes p the picker; nil makes RPCs wait.
func (g *pickerGate) set(p balancer.Picker) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.replace(&pickerTurn{picker: p})
	}
}

// close fails RPCs that wait, and those to come.
func (g *pickerGate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	g.replace(&pickerTurn{closed: true})
}

func (g *pickerGate) replace(t *pickerTurn) {
	if old := g.current.Swap(t); old != nil && old.next != nil {
		close(old.next)
	}
}

// changed returns a channel that is closed once t is not the current turn.
func (g *pickerGate) changed(t *pickerTurn) <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if t.next == nil {
		t.next = make(chan struct{})
		if g.current.Load() != t {
			close(t.next)
		}
	}
	return t.next
}

// picked is where an attempt goes.
type picked struct {
	link    *Link
	result  balancer.PickResult
	delayed bool // it had to wait
	dropped bool // the balancer has said with what status the RPC is to end
}

// Closed says that RPCs don't get past the picker any more.
func (ch *Channel) Closed() bool { return ch.picks.turn().closed }

// Pause waits before another attempt. An error is a status: the context ended meanwhile, or
// the channel was closed.
func (ch *Channel) Pause(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return status.FromContextError(err).Err()
	}
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	for {
		turn := ch.picks.turn()
		if turn.closed {
			return ErrClosing
		}
		select {
		case <-t.C:
			return nil
		case <-ctx.Done():
			return status.FromContextError(ctx.Err()).Err()
		case <-ch.picks.changed(turn): // it may be that the channel closes
		}
	}
}

// pick waits until the balancer gives the RPC a subchannel that is ready; if it is not to
// wait for that, it fails where the balancer has none to give. An error is a status.
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
				if l := readyLink(result); l != nil {
					p.link, p.result = l, result
					return p, nil
				}
				// The subchannel has just been lost: another picker is on its way.
			case err == balancer.ErrNoSubConnAvailable: // what wraps it says more: it is a failure
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
		case <-info.Ctx.Done():
			return p, pickTimeout(info.Ctx, last)
		}
	}
}

// readyLink returns the connection that was picked, nil if it is not there any more, or
// never was: the RPC then waits for the next picker.
func readyLink(r balancer.PickResult) *Link {
	sub, ok := r.SubConn.(*Subchannel)
	if !ok {
		logger.Errorf("the balancer picked a %T, which is not a SubConn of this channel", r.SubConn)
		return nil
	}
	l := sub.ready.Load()
	if l == nil && r.Done != nil {
		r.Done(balancer.DoneInfo{})
	}
	return l
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
