// SPDX-License-Identifier: Apache-2.0

package frame

// RefusePushPromise returns the connection error of RFC 9113 section 6.6 for any PUSH_PROMISE frame. No
// server may receive one. And no server has a reason to send one, since every client here sends
// ENABLE_PUSH of 0 before its first request. [Header.Check] calls it, so that no payload of a
// PUSH_PROMISE is ever read.
func RefusePushPromise() error {
	return ConnError(ProtocolError, "PUSH_PROMISE: push is disabled")
}
