// SPDX-License-Identifier: Apache-2.0

package alts

import (
	"sync"

	"google.golang.org/grpc/credentials/alts/internal/handshaker"
	"google.golang.org/grpc/internal/envconfig"
	"google.golang.org/grpc/internal/googlecloud"
)

// environment is what all credentials of a process share. It doesn't change.
type environment struct {
	trusted     bool // the platform's handshaker service can be relied on
	maxRecord   int  // to offer, in bytes
	lowWater    bool
	clientSlots handshaker.Slots
	serverSlots handshaker.Slots
}

// processEnvironment finds out once, when the first credentials are made.
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
