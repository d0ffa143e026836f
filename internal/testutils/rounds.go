// SPDX-License-Identifier: Apache-2.0

package testutils

import "testing"

// Rounds returns n, or a fifth of it where tests are to be short: `make race` runs them with -short,
// as one goroutine that repeats itself shows the race detector nothing.
func Rounds(n int) int {
	if testing.Short() {
		return max(1, n/5)
	}
	return n
}
