// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/internal/channel"
	"google.golang.org/grpc/internal/telemetry"
	"google.golang.org/grpc/status"
)

// attempt is one try of an RPC: the channel's part of it, and what those who watch the RPC
// have been told. There is no messageReader in it: one is made for each message, as a stream
// may wait for a long time without one.
type attempt struct {
	channel.Attempt
	ctx          context.Context     // with the values that stats handlers and plugins added
	decompressor encoding.Compressor // of the last message; nil: none yet
	seen         telemetry.Attempt   // nil: no plugin looks at it
	begun        time.Time           // when stats handlers were told
	headerTold   atomic.Bool
	gotMessage   bool
	replySound   bool // the one reply was looked at before its end had come
}

// result is how the attempt's stream ended; nil stands for OK.
func (a *attempt) result() *status.Status { return a.Result(a.ctx) }
