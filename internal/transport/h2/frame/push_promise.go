// SPDX-License-Identifier: Apache-2.0

package frame

// ParsePushPromise refuses a PUSH_PROMISE frame with the connection error of
// RFC 9113 section 6.6. No server may receive one; and as every client here
// sends ENABLE_PUSH of 0 ahead of its first request, no server can have a reason
// to send one. [Header.Check] calls it, so that no payload is ever read.
func ParsePushPromise(Header, []byte) error {
	return ConnError(ProtocolError, "PUSH_PROMISE: push is disabled")
}
