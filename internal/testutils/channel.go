// SPDX-License-Identifier: Apache-2.0

// Package testutils has a mailbox, for the tests of modules beside this one (see package
// internal), and sockets for tests.
package testutils

import "context"

// Channel holds one value at a time.
type Channel struct{ ch chan any }

// NewChannel returns an empty one.
func NewChannel() *Channel { return &Channel{ch: make(chan any, 1)} }

// Send puts a value in, and waits while there is another.
func (c *Channel) Send(v any) { c.ch <- v }

// Receive takes the value out, and waits for one until ctx ends.
func (c *Channel) Receive(ctx context.Context) (any, error) {
	select {
	case v := <-c.ch:
		return v, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
