// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"

	"google.golang.org/grpc/internal/ctxkey"
	"google.golang.org/grpc/peer"
)

// clientContext is the context of a stream that is committed, or hedged. Through it PreparedMsg finds
// how the stream's messages are written, and package peer the server.
type clientContext struct {
	context.Context
	writer *messageWriter
	peer   *peer.Peer // nil while it is open which server answers
}

// Value implements context.Context.
func (c *clientContext) Value(key any) any {
	switch key.(type) {
	case messageWriterKey:
		return c.writer
	case ctxkey.Peer:
		if c.peer != nil {
			return c.peer
		}
	}
	return c.Context.Value(key)
}
