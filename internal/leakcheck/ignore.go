// SPDX-License-Identifier: Apache-2.0

package leakcheck

// RegisterIgnoreGoroutine is for the tests of modules beside this one, which don't check for
// leaks by this package; see package internal.
func RegisterIgnoreGoroutine(string) {}
