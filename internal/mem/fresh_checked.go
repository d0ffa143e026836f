// SPDX-License-Identifier: Apache-2.0

//go:build race || msan || asan

package mem

// fresh returns n bytes that nobody else has.
func fresh(n int) []byte { return make([]byte, n) }
