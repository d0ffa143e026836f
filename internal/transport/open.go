// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"sync/atomic"

	"google.golang.org/grpc/internal/transport/h2"
)

// openConns counts the connections of both sides between their making and the
// Closed that their owner is told.
var openConns atomic.Int64

// OpenConns is how many HTTP/2 connections the process has open, those that it
// accepted and those that it made, from the end of their handshake on. The two
// ends of one within the process are two. Connections of a net/http server
// are not ours to count.
func OpenConns() int64 { return openConns.Load() }

// BytesHeld is what the peers of these connections make them hold, in bytes of memory.
func BytesHeld() int64 { return h2.BytesHeld() }
