// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc/internal/ctxkey"
)

// NewIncomingContext returns a context that holds md as what a server received. md
// must not change afterwards.
func NewIncomingContext(ctx context.Context, md MD) context.Context {
	return context.WithValue(ctx, ctxkey.IncomingMetadata{}, md)
}

// FromIncomingContext returns the metadata that a server received with the RPC of
// ctx, as a copy with lower-case keys that the caller may change. It is false where
// ctx has none. To look at one key, ValueFromIncomingContext is cheaper.
func FromIncomingContext(ctx context.Context) (MD, bool) {
	switch md := ctx.Value(ctxkey.IncomingMetadata{}).(type) {
	case MD:
		return MD(copyMap(md, strings.ToLower)), true
	case ctxkey.LazyMD:
		return MD(md.IncomingMD()), true
	}
	return nil, false
}

// ValueFromIncomingContext returns the values of one received key, whatever the
// case it is asked for in, as a slice that belongs to the caller; nil if there are
// none.
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

// NewOutgoingContext returns a context whose calls send md, in place of whatever
// ctx would have sent; see AppendToOutgoingContext for adding to it. md must not
// change afterwards.
func NewOutgoingContext(ctx context.Context, md MD) context.Context {
	return ctxkey.WithOutgoing(ctx, md)
}

// AppendToOutgoingContext returns a context whose calls send the given keys and
// values (in turn) after what ctx sends already. It panics if their number is odd.
// What ctx sends already is not copied.
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

// FromOutgoingContext returns what calls of ctx would send, as a copy with
// lower-case keys that the caller may change. It is false where nothing was set.
func FromOutgoingContext(ctx context.Context) (MD, bool) {
	o := ctxkey.OutgoingFrom(ctx)
	if o == nil {
		return nil, false
	}
	return MD(o.CopyMD()), true
}

// ValueFromOutgoingContext returns the values that calls of ctx would send for one
// key, whatever the case it is asked for in, as a slice that belongs to the caller;
// nil if there are none.
func ValueFromOutgoingContext(ctx context.Context, key string) []string {
	return ctxkey.OutgoingFrom(ctx).Values(strings.ToLower(key))
}

// lookUp also finds keys that a user put into the map in upper case.
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
