// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/internal/channel"
	"google.golang.org/grpc/internal/telemetry"
	"google.golang.org/grpc/status"
)

// attempt is one try of an RPC, as the channel has it, with what reads its messages and
// what has been told of it.
type attempt struct {
	channel.Attempt
	ctx        context.Context // with what who watches added
	reader     messageReader   // without a codec before the first message
	gotMessage bool

	seen       telemetry.Attempt // nil: no plugin looks at it
	begun      time.Time         // when stats handlers were told
	headerTold atomic.Bool
}

// result is how the attempt's stream ended; nil stands for OK.
func (a *attempt) result() *status.Status { return a.Result(a.ctx) }
