// SPDX-License-Identifier: Apache-2.0

package mem

import "google.golang.org/grpc/internal/mem"

// poolingThreshold is the size up to which allocating is about as cheap as pooling,
// and an exact allocation holds less memory.
const poolingThreshold = 1 << 10

// BufferPool lends byte slices. Implementations must be safe for concurrent use.
type BufferPool interface {
	// Get lends a slice of the given length. The contents are unspecified, because clearing a large slice
	// costs as much as a copy: the caller has to overwrite them. The caller owns the slice, up to its capacity,
	// and its header until it passes both to Put, directly or through [NewBuffer].
	Get(length int) *[]byte
	// Put gives back a slice that Get lent. The pool may hand it to somebody else at
	// once, so that neither the array nor the header may be used any more.
	Put(*[]byte)
}

// NopBufferPool is a [BufferPool] which always allocates, and keeps nothing.
type NopBufferPool struct {
	mem.NopBufferPool
}

// DefaultBufferPool returns the pool that the whole process shares. It has sizes from 256 B to 16 MiB, so
// that a buffer of 128 B or more wastes less than half of its memory, and one of more than 128 KiB wastes a fifth at most.
// Larger requests are plain allocations.
func DefaultBufferPool() BufferPool {
	if p := mem.Replacement(); p != nil {
		return p
	}
	return mem.Default()
}

// NewTieredBufferPool returns a pool with the given sizes in bytes, in any order.
// A request gets the smallest size that holds it. A request larger than all of them,
// or one for which that size would be wasteful (above 4 KiB and more than four times
// the request), is allocated for itself and not kept. Each size keeps at most 32 MiB,
// or one buffer if that is larger, and beyond that one buffer for each processor (GOMAXPROCS); nothing is kept
// beyond two garbage collections without use.
func NewTieredBufferPool(sizes ...int) BufferPool { return mem.NewTiered(sizes...) }

// NewBinaryTieredBufferPool is like [NewTieredBufferPool] for sizes that are powers of
// two, given by their exponents. It fails if a size does not fit an int.
func NewBinaryTieredBufferPool(exponents ...uint8) (BufferPool, error) {
	p, err := mem.NewBinaryTiered(exponents...)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// IsBelowBufferPoolingThreshold reports whether size is 1 KiB or less. Taking so small a
// buffer from a pool does not pay if it then lives for long; [Copy] allocates it instead.
func IsBelowBufferPoolingThreshold(size int) bool { return size <= poolingThreshold }
