// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/internal/transport/h2"
)

// openConns counts the connections of both sides between their making and the
// Closed that their owner is told.
var openConns atomic.Int64

// unparkable are the open connections that can't be parked, and why not.
var unparkable struct {
	mu  sync.Mutex
	why map[*h2.Conn]string
}

// opened counts a connection that is about to start.
func opened(c *h2.Conn) {
	openConns.Add(1)
	why := c.WhyNot()
	if why == "" {
		return
	}
	unparkable.mu.Lock()
	defer unparkable.mu.Unlock()
	if unparkable.why == nil {
		unparkable.why = make(map[*h2.Conn]string)
	}
	unparkable.why[c] = why
}

// closed follows the end of a connection.
func closed(c *h2.Conn) {
	openConns.Add(-1)
	unparkable.mu.Lock()
	defer unparkable.mu.Unlock()
	delete(unparkable.why, c)
}

// Unparkable counts the open connections that can't be parked, by the reason.
func Unparkable() map[string]int {
	unparkable.mu.Lock()
	defer unparkable.mu.Unlock()
	reasons := make(map[string]int)
	for _, why := range unparkable.why {
		reasons[why]++
	}
	return reasons
}

// OpenConns is how many HTTP/2 connections the process has open, those that it
// accepted and those that it made, from the end of their handshake on. The two
// ends of one within the process are two. Connections of a net/http server
// are not ours to count.
func OpenConns() int64 { return openConns.Load() }

// BytesHeld is what the peers of these connections make them hold, in bytes of memory.
func BytesHeld() int64 { return h2.BytesHeld() }
