// SPDX-License-Identifier: Apache-2.0

package ctxkey

import (
	"context"
	"strings"
)

// Outgoing is one layer of the metadata that a call is to send. A layer is
// immutable once its context exists: children point to it, so siblings cannot see
// each other's additions.
type Outgoing struct {
	parent *Outgoing
	md     map[string][]string // the user's map: read only; keys as they are
	kv     []string            // our own copy; keys in lower case
}

// OutgoingFrom returns the metadata that ctx carries, nil if it carries none.
func OutgoingFrom(ctx context.Context) *Outgoing {
	o, _ := ctx.Value(OutgoingMetadata{}).(*Outgoing)
	return o
}

// WithOutgoing returns a context whose outgoing metadata is md alone. It keeps md.
func WithOutgoing(ctx context.Context, md map[string][]string) context.Context {
	return &outgoingContext{Context: ctx, layer: Outgoing{md: md}}
}

// AppendOutgoing returns a context that sends kv (keys and values in turn) after
// what ctx sends already. It takes over kv, whose keys must be in lower case.
func AppendOutgoing(ctx context.Context, kv []string) context.Context {
	return &outgoingContext{Context: ctx, layer: Outgoing{parent: OutgoingFrom(ctx), kv: kv}}
}

// Range calls yield with each key and value, without copying anything: first what
// NewOutgoingContext set, in map order, with keys as they are, then what was appended,
// oldest first, with keys in lower case. It stops when yield returns false, and tells whether it
// came to the end. A nil o is empty.
func (o *Outgoing) Range(yield func(key, value string) bool) bool {
	if o == nil {
		return true
	}
	if !o.parent.Range(yield) {
		return false
	}
	for k, values := range o.md {
		for _, v := range values {
			if !yield(k, v) {
				return false
			}
		}
	}
	for i := 1; i < len(o.kv); i += 2 {
		if !yield(o.kv[i-1], o.kv[i]) {
			return false
		}
	}
	return true
}

// Empty reports whether there is nothing to send.
func (o *Outgoing) Empty() bool {
	return o.Range(func(string, string) bool { return false })
}

// CopyMD returns everything as one map with lower-case keys that the caller owns.
func (o *Outgoing) CopyMD() map[string][]string {
	md := make(map[string][]string)
	o.addTo(md)
	return md
}

// Values returns the values of a key that is in lower case, in order; nil if there
// are none. The slice belongs to the caller.
func (o *Outgoing) Values(key string) []string {
	if o == nil {
		return nil
	}
	found := o.parent.Values(key)
	for k, values := range o.md {
		if strings.ToLower(k) == key {
			found = append(found, values...)
		}
	}
	for i := 1; i < len(o.kv); i += 2 {
		if o.kv[i-1] == key {
			found = append(found, o.kv[i])
		}
	}
	return found
}

func (o *Outgoing) addTo(md map[string][]string) {
	if o == nil {
		return
	}
	o.parent.addTo(md)
	for k, values := range o.md {
		k = strings.ToLower(k)
		md[k] = append(md[k], values...)
	}
	for i := 1; i < len(o.kv); i += 2 {
		md[o.kv[i-1]] = append(md[o.kv[i-1]], o.kv[i])
	}
}

// outgoingContext is context and layer in one allocation.
type outgoingContext struct {
	context.Context
	layer Outgoing
}

func (c *outgoingContext) Value(key any) any {
	if key == (OutgoingMetadata{}) {
		return &c.layer
	}
	return c.Context.Value(key)
}

// String keeps fmt from walking through the parents by reflection, which would race
// with their locks; and it shows no metadata, which may be secret.
func (c *outgoingContext) String() string { return "context with outgoing gRPC metadata" }
