// SPDX-License-Identifier: Apache-2.0

//go:build race

package h2

import "sync"

// mutex counts how often it was locked.
type mutex struct {
	sync.Mutex
	locked int
}

func (m *mutex) Lock() {
	m.Mutex.Lock()
	m.locked++
}

// Locked returns how often the connection's lock was taken.
func (c *Conn) Locked() int {
	c.mu.Mutex.Lock()
	defer c.mu.Unlock()
	return c.mu.locked
}
