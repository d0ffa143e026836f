// SPDX-License-Identifier: Apache-2.0

package handshaker

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
)

// Config says how to do a handshake.
type Config struct {
	// Service is the connection to the handshaker service.
	Service grpc.ClientConnInterface
	// TargetName is the name that the server must be entitled to. Clients only.
	TargetName string
	// TargetServiceAccounts are the service accounts that the server may have. If there
	// are none, the server may have any. Clients only.
	TargetServiceAccounts []string
	// MaxRecord is the largest record size to offer to the peer, in bytes. 0 means
	// altsconn.MaxRecord.
	MaxRecord int
	// Pool lends buffers. Nil means mem's default pool.
	Pool mem.BufferPool
	// LowWater is passed on in altsconn.Config.
	LowWater bool
	// Slots bounds how many handshakes run at the same time. A server's handshake holds a
	// slot only while it waits for the service, not while it waits for its client. Nil
	// means no bound.
	Slots Slots
}

// Slots is a semaphore for handshakes.
type Slots chan struct{}

// NewSlots returns a semaphore with n slots.
func NewSlots(n int) Slots { return make(Slots, n) }

func (s Slots) take(ctx context.Context) error {
	if s == nil {
		return ctx.Err()
	}
	select {
	case s <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("alts: waiting for one of %d concurrent handshakes to end: %w", cap(s), context.Cause(ctx))
	}
}

func (s Slots) free() {
	if s != nil {
		<-s
	}
}
