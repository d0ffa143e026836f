// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"context"

	"google.golang.org/grpc/metadata"
)

const (
	tagsKey  = "grpc-tags-bin"
	traceKey = "grpc-trace-bin"
)

// SetTags returns a context whose RPCs send b as the metadata entry grpc-tags-bin.
//
// Deprecated: add the metadata entry with the metadata package instead.
func SetTags(ctx context.Context, b []byte) context.Context {
	return metadata.AppendToOutgoingContext(ctx, tagsKey, string(b))
}

// Tags returns the last grpc-tags-bin entry that the client of the RPC sent, or nil if
// there was none.
//
// Deprecated: read the incoming metadata with the metadata package instead.
func Tags(ctx context.Context) []byte {
	return lastIncoming(ctx, tagsKey)
}

// SetTrace returns a context whose RPCs send b as the metadata entry grpc-trace-bin.
//
// Deprecated: add the metadata entry with the metadata package instead.
func SetTrace(ctx context.Context, b []byte) context.Context {
	return metadata.AppendToOutgoingContext(ctx, traceKey, string(b))
}

// Trace returns the last grpc-trace-bin entry that the client of the RPC sent, or nil
// if there was none.
//
// Deprecated: read the incoming metadata with the metadata package instead.
func Trace(ctx context.Context) []byte {
	return lastIncoming(ctx, traceKey)
}

func lastIncoming(ctx context.Context, key string) []byte {
	values := metadata.ValueFromIncomingContext(ctx, key)
	if len(values) == 0 {
		return nil
	}
	return []byte(values[len(values)-1])
}
