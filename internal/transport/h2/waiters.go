// SPDX-License-Identifier: Apache-2.0

package h2

import "google.golang.org/grpc/internal/transport/h2/protocol"

// gate is a core's Waiter for any number of goroutines: each waits for it to be closed.
type gate chan struct{}

// Wake implements Waiter.
func (g gate) Wake() { close(g) }

func newGate() protocol.Waiter { return make(gate) }

// chanWaiter is a core's Waiter for one goroutine, which receives from it. It has room for one.
type chanWaiter chan struct{}

// Wake implements Waiter.
func (b chanWaiter) Wake() { b <- struct{}{} }
