// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"maps"
	"slices"
	"strings"

	"google.golang.org/grpc/internal/ctxkey"
	"google.golang.org/grpc/metadata"
)

// outgoing is a carrier that adds a propagator's entries to the metadata that an RPC sends.
// Values of keys that end in -bin are bytes. Keys are lower-cased, as in metadata: some propagators have
// keys such as X-Amzn-Trace-Id.
type outgoing struct {
	ctx   context.Context
	added []string // keys, in lower case, and values
}

// Keys of W3C Trace Context.
const (
	traceParent = "traceparent"
	traceState  = "tracestate"
)

// context returns a context with the added entries in its outgoing metadata.
func (o *outgoing) context() context.Context {
	if len(o.added) == 0 {
		return o.ctx
	}
	if o.replaces() { // an RPC must not name two spans, so these replace the application's entries
		md, _ := metadata.FromOutgoingContext(o.ctx)
		if slices.Contains(o.added, traceParent) {
			md.Delete(traceState) // it is of another trace (W3C Trace Context, section 3.4), unless one is added
		}
		for i := 0; i < len(o.added); i += 2 {
			md.Set(o.added[i], o.added[i+1])
		}
		return metadata.NewOutgoingContext(o.ctx, md)
	}
	return metadata.AppendToOutgoingContext(o.ctx, o.added...)
}

func (o *outgoing) replaces() bool {
	had := ctxkey.OutgoingFrom(o.ctx)
	for i := 0; i < len(o.added); i += 2 {
		if len(had.Values(o.added[i])) > 0 {
			return true
		}
	}
	return slices.Contains(o.added, traceParent) && len(had.Values(traceState)) > 0 // which is of another trace
}

// Get implements propagation.TextMapCarrier.
func (o *outgoing) Get(key string) string {
	key = strings.ToLower(key)
	for i := 0; i < len(o.added); i += 2 {
		if o.added[i] == key {
			return o.added[i+1]
		}
	}
	if had := ctxkey.OutgoingFrom(o.ctx).Values(key); len(had) > 0 {
		return had[0]
	}
	return ""
}

// Set implements propagation.TextMapCarrier.
func (o *outgoing) Set(key, value string) {
	key = strings.ToLower(key)
	for i := 0; i < len(o.added); i += 2 {
		if o.added[i] == key {
			o.added[i+1] = value
			return
		}
	}
	o.added = append(o.added, key, value)
}

// Keys implements propagation.TextMapCarrier.
func (o *outgoing) Keys() []string {
	md, _ := metadata.FromOutgoingContext(o.context())
	return slices.Collect(maps.Keys(md))
}

// incoming is a carrier from which a propagator reads the metadata of an RPC that a server
// received.
type incoming struct{ ctx context.Context }

// Get implements propagation.TextMapCarrier.
func (i incoming) Get(key string) string {
	if values := i.Values(key); len(values) > 0 {
		return values[0]
	}
	return ""
}

// Values implements propagation.ValuesGetter.
func (i incoming) Values(key string) []string { return metadata.ValueFromIncomingContext(i.ctx, key) }

// Set implements propagation.TextMapCarrier. It does nothing: received metadata does not change.
func (i incoming) Set(string, string) {}

// Keys implements propagation.TextMapCarrier.
func (i incoming) Keys() []string {
	md, _ := metadata.FromIncomingContext(i.ctx)
	return slices.Collect(maps.Keys(md))
}
