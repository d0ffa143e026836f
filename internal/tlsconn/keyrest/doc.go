// SPDX-License-Identifier: Apache-2.0

// Package keyrest replaces the ciphers of a tls.Conn, by unsafe, with ones that keep their keys alone
// while the connection is idle. It is off unless GRPC_GO_EXPERIMENTAL_TLS_IDLE_CIPHERS is set.
//
// AES-GCM makes 0.8 KB of a key, in each direction, so this saves 1.7 KB of the 5.9 KB that an idle TLS
// connection takes. It costs a microsecond or two, and garbage, for the next record. The AEADs of TLS 1.3,
// which have the public type cipher.AEAD, are replaced by AEADs with the same keys. The keys follow from
// the traffic secrets that crypto/tls keeps for KeyUpdates. The IV follows from these in the same way, and
// has to be the one in place: that proves that the keys are those in use. Nonces and everything else stay
// crypto/tls's. Other ciphers are not replaced. Nothing is replaced in FIPS 140-3 mode, nor where a field
// has another name or type than is known here.
package keyrest
