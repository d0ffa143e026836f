// SPDX-License-Identifier: Apache-2.0

// Package mem lets messages pass from the network to the application and back
// without copies and with little work for the garbage collector: buffers that
// count their references, lists of them, and the pools their memory returns to.
//
// # Ownership
//
// A [Buffer] begins with one reference, which belongs to its creator. Ref adds one, Free gives one up, and
// each must be given up exactly once. With the last one the memory returns to its pool, and from then on
// every slice that ReadOnlyData gave out shows somebody else's bytes. A function that is handed a Buffer
// and wants to keep it beyond its return takes a reference of its own.
//
// Forgetting a Free loses nothing but the reuse. Using a Buffer after its last Free
// is a bug that panics where it can be seen; builds with the race tag see all of it
// and overwrite returned memory, which also uncovers slices that are kept too long.
package mem
