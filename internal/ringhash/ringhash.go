// SPDX-License-Identifier: Apache-2.0

// Package ringhash hands the hash of an RPC, which the xDS configuration tells how to
// make, to the policy ring_hash (gRFC A42).
package ringhash

import "context"

type key struct{}

// WithHash returns a context whose RPC has the hash.
func WithHash(ctx context.Context, hash uint64) context.Context {
	return context.WithValue(ctx, key{}, hash)
}

// Hash returns the RPC's hash, and whether it has one.
func Hash(ctx context.Context) (hash uint64, ok bool) {
	hash, ok = ctx.Value(key{}).(uint64)
	return hash, ok
}
