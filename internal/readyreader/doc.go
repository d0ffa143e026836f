// SPDX-License-Identifier: Apache-2.0

// Package readyreader is the ground below a connection's read loop: it waits
// for input while holding no buffer, and takes one only when bytes are there.
//
// The pieces, from the socket up:
//
//   - [Layer] is how a connection is read and written. The package has one for plain TCP and unix sockets,
//     and for wrappers around them; a credentials connection (TLS, ALTS) is itself a Layer. Its method Can
//     says what a Layer can do, as one set of abilities: no code asks for the type of a connection.
//   - [Socket] is a net.Conn with its Layer. [NewSocket] alone decides which Layer that is, once for each
//     connection.
//   - [Buffered] is what a frame loop uses: it looks at bytes in place, with or without waiting, drops
//     them, and reads large payloads straight to their destination. [New] picks the implementation that
//     suits a Socket; the frame loop can't tell them apart.
//   - [PartialInput] is input that has arrived and can't be used yet. It alone decides how little
//     memory that may hold during a wait, for frames and for records.
//
// A connection has one reader and one writer at a time. Reading and writing may overlap; two reads, or two
// writes, must not. Deadlines and Close belong to the net.Conn; any goroutine may use them, and they end a
// wait.
package readyreader
