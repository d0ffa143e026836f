// SPDX-License-Identifier: Apache-2.0

// Package hpack compresses and restores HTTP/2 field sections (RFC 7541).
//
// It is made for many mostly idle connections: an [Encoder] or [Decoder] holds no
// map, only a ring of 16-byte entries over one byte arena, both allocated when the
// first entry arrives and sized by what the table really holds. In steady state
// neither direction allocates. The state of a connection that is not used for a while can
// be frozen: written to a string, so that the memory can serve another connection.
//
// A [List] does not copy what its block refers to in the dynamic table: that lies in pages
// (see [Page]), which are written once and shared by all blocks that refer to it. Whoever
// keeps any number of blocks, as references and literals, so holds at most four times as
// much memory as the blocks had octets, whatever they refer to and however often.
//
// Nothing here is safe for concurrent use. An Encoder belongs to whoever writes
// header blocks in wire order, a Decoder to whoever reads them.
package hpack

//go:generate go run gen_tables.go
