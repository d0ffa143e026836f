// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"time"

	"google.golang.org/grpc/internal/telemetry"
	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/stats"
)

// EnableTracing has RPCs recorded for the pages of golang.org/x/net/trace, in a program that
// imports google.golang.org/grpc/experimental/nettrace or is built with the tag grpctrace. In
// any other program it has no effect, so that golang.org/x/net/trace need not be linked. Set
// it before the first RPC.
var EnableTracing bool

// statsHandlers are told what happens. There may be none.
type statsHandlers []stats.Handler

// tag lets each handler add to the context of an RPC, or of an attempt.
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
	wire   int // as it travels, without framing

	plain []byte // the message decompressed, where a binary log wants it
}

// message is what plugins of telemetry are told.
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
