// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal/resolver/scheme"
	"google.golang.org/grpc/internal/transport"
)

// Dial is DialContext with context.Background().
//
// Deprecated: use NewClient. Dial stays supported throughout 1.x.
func Dial(target string, opts ...DialOption) (*ClientConn, error) {
	return DialContext(context.Background(), target, opts...)
}

// DialContext makes a channel as NewClient does, with these differences: it begins to
// connect at once, and a target without a scheme goes to the dialer as it is
// ("passthrough"). With WithBlock it waits until the channel is ready, or ctx ends; ctx has
// no meaning after it has returned.
//
// Deprecated: use NewClient. DialContext stays supported throughout 1.x.
func DialContext(ctx context.Context, target string, opts ...DialOption) (conn *ClientConn, err error) {
	o := newDialOptions(withGlobalOptions(opts))
	cc, err := newChannel(target, scheme.Passthrough, &o)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			cc.Close()
			conn = nil
		}
	}()
	if err := cc.channel.Wake(); err != nil {
		return nil, err
	}
	if !o.block {
		return cc, nil
	}
	if t := o.timeout; t > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, t)
		defer cancel()
	}
	return cc, cc.awaitReady(ctx, &o)
}

// awaitReady is the wait of a Dial with WithBlock.
func (cc *ClientConn) awaitReady(ctx context.Context, o *dialOptions) error {
	for {
		s := cc.GetState()
		switch s {
		case connectivity.Ready:
			return nil
		case connectivity.Idle:
			cc.Connect()
		case connectivity.TransientFailure:
			if err := cc.channel.LastConnErr(); o.failOnNonTemp && permanent(err) {
				return err
			}
		}
		if cc.WaitForStateChange(ctx, s) {
			continue
		}
		err := cc.channel.LastConnErr()
		switch {
		case err != nil && o.returnLastError:
			return fmt.Errorf("%w: %w", ctx.Err(), err)
		case err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) && o.failOnNonTemp && permanent(err):
			return err
		}
		return ctx.Err()
	}
}

func permanent(err error) bool {
	var ce *transport.ConnectError
	return errors.As(err, &ce) && ce.Permanent
}
