// SPDX-License-Identifier: Apache-2.0

// Package mem holds the concrete buffer pools behind the public package mem.
//
// A pool lends *[]byte. The slice header travels with its array, so that a Get
// and a Put that find a warm pool allocate nothing. What every pool here promises:
//
//   - Get(n) gives a slice of length exactly n. Its contents are unspecified:
//     a caller that needs zeroes writes them.
//   - A request is served by an array near its size, or else by a plain
//     allocation of just that size; see [Tiered].
//   - What a pool keeps is bounded for each size, up to the one array that sync.Pool has for each
//     processor, which others do not get; and all of it can be collected: an array that two
//     collections in a row found unused is gone.
//   - How many buffers are lent can be read at any time; see [Stats].
//   - All methods are safe for concurrent use.
//
// Put transfers ownership: the caller keeps no alias of the array or the header.
// Builds with the race detector, or the tag grpcpoison, check that: Put overwrites
// the array, a second Put of the same array panics, and so does the Get which finds
// that somebody wrote to an array after it was returned.
package mem
