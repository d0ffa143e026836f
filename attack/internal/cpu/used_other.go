// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package cpu

import "time"

// Used is not known on this system.
func Used() time.Duration { return 0 }
