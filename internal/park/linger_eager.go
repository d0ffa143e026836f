// SPDX-License-Identifier: Apache-2.0

//go:build grpceager

package park

import "time"

// Linger is so short in builds with the tag grpceager that connections park all
// the time: a stress program has each place of a connection's life beside a sleep.
const Linger = time.Millisecond
