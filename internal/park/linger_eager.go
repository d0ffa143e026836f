// SPDX-License-Identifier: Apache-2.0

//go:build grpceager

package park

import "time"

// Linger is so short in builds with the tag grpceager that connections park all the time: a stress program
// meets a park at each point of a connection's life.
const Linger = time.Millisecond
