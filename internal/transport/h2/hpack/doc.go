// SPDX-License-Identifier: Apache-2.0

// Package hpack compresses and restores HTTP/2 field sections (RFC 7541).
//
// It is made for many mostly idle connections: an [Encoder] or [Decoder] holds no
// map, only a ring of 16-byte entries over one byte arena, both allocated when the
// first entry arrives and sized by what the table really holds. In steady state
// neither direction allocates. The state of a connection that is not used for a while can
// be frozen: written to a string, so that the memory can serve another connection.
//
// A [List] does not copy what its block refers to in the dynamic table: it refers to a [Field],
// of which each entry of the table has one, for as long as anybody has a use for it. A peer pays
// for an entry's octets once, and may refer to it in one octet any number of times; so a reference
// costs a pointer, and the field's octets are there once. Nobody finds a Field by a number that
// came from a peer but the decoder itself, which checks it against the table (RFC 7541
// section 2.3.3).
//
// Nothing here is safe for concurrent use. An Encoder belongs to the goroutine that writes
// header blocks in wire order, a Decoder to the one that reads them.
package hpack

//go:generate go run gen_tables.go
