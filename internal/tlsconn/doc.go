// SPDX-License-Identifier: Apache-2.0

// Package tlsconn is TLS over a plain socket for connections that spend most of
// their life idle. An idle [Conn] holds keys and counters, no buffer, and needs
// no goroutine to wait for input.
//
// crypto/tls does the cryptography and the protocol. What this package changes is
// how it meets the socket: after the handshake, which blocks as usual, crypto/tls
// never touches the socket any more.
//
//   - Reading: ciphertext is read when the socket is ready, into a pooled buffer,
//     and crypto/tls is asked only while there is some. It reports that it needs
//     more by passing on [readyreader.ErrWouldBlock], which it survives with the
//     part of a record that it has.
//   - Writing: records are gathered in a pooled buffer and leave in one system
//     call, because a write that fails is final to crypto/tls even if it could be
//     repeated. A full socket is dealt with outside of crypto/tls.
//
// # Memory
//
// A tls.Conn keeps the largest buffer it ever needed for a record. Where allowed,
// and found possible at the first use in a process, a Conn lends it the pooled
// buffer instead and takes it back as soon as it is drained. That reaches into
// tls.Conn by field names; it is off where the fields are not those known here,
// where a trial fails, in builds with the tag grpcnotlsrelease, and without
// [Options].Release. Then all works the same, with up to 32 KiB held for each
// connection and one more copy of all that is received.
//
// AES-GCM makes 0.8 KB of a key, in each direction. [Options].Rest, which is off by default, saves that for
// idle connections of TLS 1.3. When such a connection is left alone the first time, its AEADs, which have
// the public type cipher.AEAD, are replaced by AEADs with the same keys (package keyrest). At rest these
// forget the 0.8 KB. They make them again for the next record, which takes a microsecond or two, and
// garbage. If something comes now and then, the 0.8 KB are kept until nothing has come for half a minute or
// more (vigil.go).
//
// The keys follow from the traffic secrets that crypto/tls keeps for KeyUpdates. The IV follows from these
// in the same way, and has to be the one in place: that proves that the keys are those in use. Nonces and
// everything else stay crypto/tls's. Rest is off where releasing is off, where its own trial fails, for
// other ciphers, and in FIPS 140-3 mode.
//
// # Locks
//
// The order is: Conn.rmu, then the locks of crypto/tls, then outbox.mu. To put ciphers to rest, this
// package takes the locks of crypto/tls's halves with TryLock only: a goroutine that holds one is using
// that half. outbox.send comes before the locks of crypto/tls. A goroutine that already holds one of the
// others takes outbox.send with TryLock only.
package tlsconn
