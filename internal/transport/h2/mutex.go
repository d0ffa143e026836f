// SPDX-License-Identifier: Apache-2.0

//go:build !race

package h2

import "sync"

// mutex is Conn.mu. With the race detector it counts.
type mutex = sync.Mutex
