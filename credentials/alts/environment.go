// SPDX-License-Identifier: Apache-2.0

package alts

import (
	"sync"

	"google.golang.org/grpc/credentials/alts/internal/handshaker"
	"google.golang.org/grpc/internal/envconfig"
	"google.golang.org/grpc/internal/googlecloud"
)

// environment holds what all credentials of a process share. It is immutable.
type environment struct {
	trusted     bool // the platform's handshaker service can be relied on
	maxRecord   int  // the record size to offer to peers, in bytes
	lowWater    bool
	clientSlots handshaker.Slots
	serverSlots handshaker.Slots
}

// processEnvironment returns the environment of the process. The first call makes it, when
// the first credentials are made.
var processEnvironment = sync.OnceValue(func() *environment { return newEnvironment(googlecloud.Here()) })

func newEnvironment(trusted bool) *environment {
	n := int(envconfig.ALTSMaxConcurrentHandshakes)
	return &environment{
		trusted:     trusted,
		maxRecord:   int(envconfig.ALTSMaxFrameSize),
		lowWater:    envconfig.ALTSLowWater,
		clientSlots: handshaker.NewSlots(n),
		serverSlots: handshaker.NewSlots(n),
	}
}
