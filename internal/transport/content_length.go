// SPDX-License-Identifier: Apache-2.0

package transport

import "strconv"

// parseLength reads a content-length. A second one must be the same (RFC 9110 section 8.6).
func parseLength(dst *int64, v []byte) error {
	n, err := strconv.ParseUint(string(v), 10, 63)
	if err != nil || *dst >= 0 && *dst != int64(n) {
		return malformed("malformed content-length")
	}
	*dst = int64(n)
	return nil
}
