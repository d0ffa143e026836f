// SPDX-License-Identifier: Apache-2.0

//go:build !grpceager

package park

import "time"

// Linger is the period of the process's sweeper. It finds a quiet connection between one and two periods
// later, sooner where there are many connections.
const Linger = 100 * time.Millisecond
