// SPDX-License-Identifier: Apache-2.0

// Package altsconn is the ALTS record protocol: a connection that seals what is
// written to it into records and opens the records that it reads.
//
// A record on the wire is
//
//	length, 4 bytes, little-endian: of all that follows
//	type, 4 bytes, little-endian: always 6
//	ciphertext, as long as the plaintext
//	tag, 16 bytes
//
// Each direction numbers its records from zero; the number, never sent, is the
// nonce, so records can neither be lost nor reordered.
//
// # Life of a buffer
//
// A read waits on the socket below with no buffer in hand. When the socket is readable, a pooled buffer
// takes the ciphertext. Records are opened where they lie (or straight into the reader's memory, if that is
// large enough), and the buffer goes back to the pool with its last byte of plaintext. A record that has
// arrived in part holds a buffer of at most about twice the bytes that arrived, and none for up to 64 of
// them: what its length declares is never allocated before a wait. Over a layer that can't be waited for
// without a buffer, the connection waits with a small one, whatever it has received before. The same is
// true over a wrapper with a Read of its own: the handshake has read through that, and it is not known what
// the wrapper holds.
//
// A write seals in one pass from the caller's memory into a pooled buffer, which goes back once the socket
// has taken it. So an idle connection is its keys, its counters and this package's struct.
//
// # Concurrency
//
// One goroutine may read while another writes. Any goroutine may call Close and set deadlines, at any time;
// both end a wait.
package altsconn
