// SPDX-License-Identifier: Apache-2.0

//go:build !grpceager

package park

import "time"

// Linger is how often the process's sweeper looks: a connection that is quiet
// is found between one and two of these later, sooner where there are many.
const Linger = 100 * time.Millisecond
