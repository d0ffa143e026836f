// SPDX-License-Identifier: Apache-2.0

// Package hpack compresses and restores HTTP/2 field sections (RFC 7541).
//
// It is made for many mostly idle connections. An [Encoder] or [Decoder] holds no map, only a ring of
// 16-byte entries over one byte arena. Both are allocated when the first entry arrives, and sized by
// what the table really holds. In steady state neither direction allocates. The state of a connection
// that is not used for a while can be frozen: it is written to a string, so that the memory can serve
// another connection.
//
// A [List] does not copy fields that its block refers to in the dynamic table. It refers to a [Field].
// Each entry of the table has one Field, which stays valid for as long as anybody uses it. A peer pays
// for an entry's octets once, but may refer to the entry in one octet any number of times. So a
// reference costs us only a pointer, and the field's octets are stored once. Only the decoder finds a
// Field by a number that came from a peer, and it checks the number against the table (RFC 7541 section
// 2.3.3).
//
// Nothing here is safe for concurrent use. An Encoder belongs to the goroutine that writes header
// blocks in wire order, a Decoder to the goroutine that reads them.
package hpack

//go:generate go run gen_tables.go
