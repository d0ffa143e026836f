// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package victim

import "time"

// cpu is not known on this system.
func cpu() time.Duration { return 0 }
