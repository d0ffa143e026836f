// SPDX-License-Identifier: Apache-2.0

// Package readyreader is the ground below a connection's read loop: it waits
// for input while holding no buffer, and takes one only when bytes are there.
//
// The pieces, from the socket up:
//
//   - [Reader], [TryReader], [InPlaceReader] are what a connection offers. The
//     package implements all three for plain TCP and unix sockets; a
//     credentials connection (TLS, ALTS) opts in by implementing them itself.
//   - [Buffered] is what a frame loop uses: look at bytes in place, drop them,
//     read large payloads to their destination. [New] picks the implementation
//     that suits a connection; the frame loop can't tell them apart.
//   - [Pollable] is a [Buffered] that can also be asked without waiting, which
//     is what a connection needs that wants to wait without a goroutine.
//   - [Stock] is what has arrived and can't be used yet: the one answer to how little
//     memory that may hold during a wait, for frames and for records.
//   - [Writer] is the write side's counterpart: one attempt that never waits.
//   - [Rester] is for what has to be waited for in a Read: a wrapper with one of its own, see wrapped.go.
//
// A connection has one reader and one writer at a time. Reading and writing may
// overlap; two reads, or two writes, must not. Deadlines and Close belong to
// the net.Conn, may come from any goroutine and end a wait.
package readyreader
