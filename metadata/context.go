// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc/internal/ctxkey"
)

// NewIncomingContext returns a context with md as the metadata that a server received. The caller
// must not change md afterwards.
func NewIncomingContext(ctx context.Context, md MD) context.Context {
	return context.WithValue(ctx, ctxkey.IncomingMetadata{}, md)
}

// FromIncomingContext returns the metadata that a server received with the RPC of ctx. The result
// is a copy with lower-case keys, which the caller may change. The bool is false if ctx has none.
// For the values of one key, ValueFromIncomingContext is cheaper.
func FromIncomingContext(ctx context.Context) (MD, bool) {
	switch md := ctx.Value(ctxkey.IncomingMetadata{}).(type) {
	case MD:
		return MD(copyMap(md, strings.ToLower)), true
	case ctxkey.LazyMD:
		return MD(md.IncomingMD()), true
	}
	return nil, false
}

// ValueFromIncomingContext returns the values of a key in the metadata that a server received, or
// nil if there are none. The key may be in any case. The caller owns the slice.
func ValueFromIncomingContext(ctx context.Context, key string) []string {
	switch md := ctx.Value(ctxkey.IncomingMetadata{}).(type) {
	case MD:
		return lookUp(md, key)
	case ctxkey.ValuesMD:
		return md.Values(strings.ToLower(key))
	case ctxkey.LazyMD:
		return md.IncomingMD()[strings.ToLower(key)]
	}
	return nil
}

// NewOutgoingContext returns a context whose RPCs send md. It replaces the metadata that RPCs of
// ctx would send; AppendToOutgoingContext adds to it. The caller must not change md afterwards.
func NewOutgoingContext(ctx context.Context, md MD) context.Context {
	return ctxkey.WithOutgoing(ctx, md)
}

// AppendToOutgoingContext returns a context whose RPCs send the metadata of ctx, and then that of
// kv, which has keys and values in turn. It panics if the length of kv is odd. It does not copy the
// metadata of ctx.
func AppendToOutgoingContext(ctx context.Context, kv ...string) context.Context {
	if len(kv)%2 == 1 {
		panic(fmt.Sprintf("metadata: AppendToOutgoingContext got an odd number of input pairs for metadata: %d", len(kv)))
	}
	own := slices.Clone(kv)
	for i := 0; i < len(own); i += 2 {
		own[i] = strings.ToLower(own[i])
	}
	return ctxkey.AppendOutgoing(ctx, own)
}

// FromOutgoingContext returns the metadata that RPCs of ctx would send. The result is a copy with
// lower-case keys, which the caller may change. The bool is false if ctx has none.
func FromOutgoingContext(ctx context.Context) (MD, bool) {
	o := ctxkey.OutgoingFrom(ctx)
	if o == nil {
		return nil, false
	}
	return MD(o.CopyMD()), true
}

// ValueFromOutgoingContext returns the values that RPCs of ctx would send for a key, or nil if
// there are none. The key may be in any case. The caller owns the slice.
func ValueFromOutgoingContext(ctx context.Context, key string) []string {
	return ctxkey.OutgoingFrom(ctx).Values(strings.ToLower(key))
}

// lookUp returns a copy of the values of a key. It also finds a key that a program put into the map
// with upper-case letters.
func lookUp(md MD, key string) []string {
	if values, ok := md[key]; ok {
		return slices.Clone(values)
	}
	for k, values := range md {
		if strings.EqualFold(k, key) {
			return slices.Clone(values)
		}
	}
	return nil
}
