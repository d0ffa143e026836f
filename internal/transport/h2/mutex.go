// SPDX-License-Identifier: Apache-2.0

//go:build !race

package h2

import "sync"

// mutex is the type of Conn.mu. In builds with the race detector it counts how often it was locked.
type mutex = sync.Mutex
