// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"context"
	"time"

	"google.golang.org/grpc/internal/retry"
	"google.golang.org/grpc/internal/rpcconfig"
	"google.golang.org/grpc/status"
)

// Choice is the configuration of an RPC.
type Choice struct {
	rpcconfig.Choice
	Throttle *retry.Throttle
	Waited   bool // the RPC waited for the resolver's first answer or for Later
}

// Choose returns the configuration of an RPC. It waits for the resolver's first answer. If the
// Selector has nothing to choose from yet and waits reports that the RPC waits for ready, Choose
// waits for that, too. An error is a status.
func (ch *Channel) Choose(ctx context.Context, method string, waits func() bool) (c Choice, err error) {
	for {
		config, waited, err := ch.awaitConfig(ctx)
		c.Waited = c.Waited || waited
		if err != nil {
			return c, err
		}
		if ch.Closed() {
			return c, ErrClosing
		}
		c.Throttle = config.throttle
		if config.selector == nil {
			c.Method = config.method(method)
			return c, nil
		}
		over := false
		c.Choice, over, err = config.selector.ask(ctx, method)
		if over { // another one has replaced config
			continue
		}
		if err != nil || c.Later == nil || !waits() {
			return c, err
		}
		c.Waited = true
		if err := ch.awaitSelector(ctx, &c.Choice); err != nil {
			return Choice{Waited: true}, err
		}
	}
}

// awaitSelector waits until the Selector has something to choose from (c.Later). An error is a
// status.
func (ch *Channel) awaitSelector(ctx context.Context, c *rpcconfig.Choice) error {
	for {
		turn := ch.picks.turn()
		if turn.closed {
			return ErrClosing
		}
		select {
		case <-c.Later:
			return nil
		case <-doneEarly(ctx):
			return pickTimeout(ctx, c.LaterErr)
		case <-ch.picks.changed(turn): // the channel may have been closed
		}
	}
}

// Closed reports whether the channel is closed. If it is, every pick fails.
func (ch *Channel) Closed() bool { return ch.picks.turn().closed }

// Pause waits for d, before another attempt. It fails if ctx ends or the channel is closed
// meanwhile. An error is a status.
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
		case <-ch.picks.changed(turn): // the channel may have been closed
		}
	}
}
