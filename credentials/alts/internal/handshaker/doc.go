// SPDX-License-Identifier: Apache-2.0

// Package handshaker does the ALTS handshake of a connection. The handshaker service
// does the cryptography. This package carries bytes between the peer and the service,
// checks the service's result, and makes a record connection with it.
package handshaker
