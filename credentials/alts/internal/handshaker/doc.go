// SPDX-License-Identifier: Apache-2.0

// Package handshaker does the ALTS handshake of a connection. The cryptography is
// done by the handshaker service; this package carries bytes between the peer and
// the service, checks what comes out, and makes a record connection of it.
package handshaker
