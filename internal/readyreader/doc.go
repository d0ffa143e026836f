// SPDX-License-Identifier: Apache-2.0

// Package readyreader is the ground below a connection's read loop: it waits
// for input while holding no buffer, and takes one only when bytes are there.
//
// The pieces, from the socket up:
//
//   - [Layer] is how a connection is read and written. The package has one for plain TCP and unix sockets, and
//     for wrappers around them; a credentials connection (TLS, ALTS) is one itself. What a Layer can do, its
//     Can says: it is one set of abilities, and nobody asks for the type of a connection.
//   - [Socket] is a net.Conn with its Layer. [NewSocket] alone decides which that is, once for a connection.
//   - [Buffered] is what a frame loop uses: look at bytes in place, with or without waiting, drop them,
//     read large payloads to their destination. [New] picks the implementation
//     that suits a Socket; the frame loop can't tell them apart.
//   - [PartialInput] is what has arrived and can't be used yet: the one answer to how little
//     memory that may hold during a wait, for frames and for records.
//
// A connection has one reader and one writer at a time. Reading and writing may
// overlap; two reads, or two writes, must not. Deadlines and Close belong to
// the net.Conn, may come from any goroutine and end a wait.
package readyreader
