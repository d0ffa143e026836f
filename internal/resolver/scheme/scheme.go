// SPDX-License-Identifier: Apache-2.0

// Package scheme has the default scheme of targets, which both the public resolver package and the
// channel need.
package scheme

import "sync/atomic"

// Passthrough is the default scheme of Dial and DialContext.
const Passthrough = "passthrough"

// DNS is the default scheme of NewClient.
const DNS = "dns"

var chosen atomic.Pointer[string]

// Set makes scheme the default of every channel made later.
func Set(scheme string) {
	chosen.Store(&scheme)
}

// Or returns the scheme that the program set, or def if it set none.
func Or(def string) string {
	if s := chosen.Load(); s != nil {
		return *s
	}
	return def
}
