// SPDX-License-Identifier: Apache-2.0

// Package ringhash passes the hash of an RPC to the policy ring_hash (gRFC A42). The xDS
// configuration says how to compute the hash.
package ringhash

import "context"

type key struct{}

// WithHash returns a context for an RPC with the hash.
func WithHash(ctx context.Context, hash uint64) context.Context {
	return context.WithValue(ctx, key{}, hash)
}

// Hash returns the hash of the RPC of ctx. ok reports whether it has one.
func Hash(ctx context.Context) (hash uint64, ok bool) {
	hash, ok = ctx.Value(key{}).(uint64)
	return hash, ok
}
