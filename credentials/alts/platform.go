// SPDX-License-Identifier: Apache-2.0

package alts

import "strings"

// isGoogleProduct reports whether a machine's product name, as its firmware gives
// it, is one of Google Cloud's.
func isGoogleProduct(name string) bool {
	switch strings.TrimSpace(name) {
	case "Google", "Google Compute Engine":
		return true
	}
	return false
}
