// SPDX-License-Identifier: Apache-2.0

package h2

import "google.golang.org/grpc/internal/transport/h2/protocol"

// gate is a protocol.Waiter for any number of goroutines: each waits until the channel is closed.
type gate chan struct{}

// Wake implements Waiter.
func (g gate) Wake() { close(g) }

func newGate() protocol.Waiter { return make(gate) }

// chanWaiter is a protocol.Waiter for one goroutine, which receives from it. The channel has a capacity
// of one.
type chanWaiter chan struct{}

// Wake implements Waiter.
func (b chanWaiter) Wake() { b <- struct{}{} }
