// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"time"

	"google.golang.org/grpc/internal/telemetry"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/stats"
)

// EnableTracing makes RPCs appear on the pages of golang.org/x/net/trace, in a program that
// imports google.golang.org/grpc/experimental/nettrace or is built with the tag grpctrace. In
// any other program it has no effect, so that programs need not link golang.org/x/net/trace. Set
// it before the first RPC.
var EnableTracing bool

// statsHandlers are the stats handlers of a channel or a server. There may be none.
type statsHandlers []stats.Handler

// tag lets each handler add values to the context of an RPC or of an attempt.
func (hs statsHandlers) tag(ctx context.Context, info *stats.RPCTagInfo) context.Context {
	for _, h := range hs {
		ctx = h.TagRPC(ctx, info)
	}
	return ctx
}

func (hs statsHandlers) emit(ctx context.Context, event stats.RPCStats) {
	for _, h := range hs {
		h.HandleRPC(ctx, event)
	}
}

// messageSizes are the sizes of a message in bytes.
type messageSizes struct {
	length int // decompressed
	wire   int // as sent, without the length prefix

	plain []byte // the message decompressed, if a binary log wants it
}

// message returns the sizes in the form that telemetry plugins are given.
func (n messageSizes) message() telemetry.Message {
	return telemetry.Message{Length: n.length, Compressed: n.wire}
}

func inPayload(msg any, n messageSizes) stats.InPayload {
	return stats.InPayload{
		Payload:          msg,
		Length:           n.length,
		CompressedLength: n.wire,
		WireLength:       n.wire + transport.FramingLen,
		RecvTime:         time.Now(),
	}
}

func outPayload(msg any, n messageSizes) stats.OutPayload {
	return stats.OutPayload{
		Payload:          msg,
		Length:           n.length,
		CompressedLength: n.wire,
		WireLength:       n.wire + transport.FramingLen,
		SentTime:         time.Now(),
	}
}
