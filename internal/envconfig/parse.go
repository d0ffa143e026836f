// SPDX-License-Identifier: Apache-2.0

package envconfig

import (
	"strconv"
	"strings"
)

// boolean reads value as a switch that is def unless the opposite is spelled out,
// in any letter case. Anything else, the empty string included, leaves def.
func boolean(value string, def bool) bool {
	if def {
		return !strings.EqualFold(value, "false")
	}
	return strings.EqualFold(value, "true")
}

// bounds is a number's default and the range that it is moved into.
type bounds struct {
	def, min, max uint64
}

// number reads value as a decimal number. Text that is no number leaves the
// default; a number outside the range becomes the nearer end of it.
func number(value string, b bounds) uint64 {
	if value == "" {
		return b.def
	}
	n, err := strconv.ParseUint(value, 10, 64)
	if err != nil {
		return b.def
	}
	return min(max(n, b.min), b.max)
}
