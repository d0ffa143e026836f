// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/internal/transport/h2"
)

// openConns counts the connections of both sides, from when they are made until their owner
// is told Closed.
var openConns atomic.Int64

// unparkable are the open connections that can't be parked.
var unparkable unfit

type unfit struct {
	mu    sync.Mutex
	conns map[*h2.Conn]struct{}
}

// add puts a connection in, and reports whether it was not there. mu is held.
func (u *unfit) add(c *h2.Conn) bool {
	if u.conns == nil {
		u.conns = make(map[*h2.Conn]struct{})
	}
	_, known := u.conns[c]
	u.conns[c] = struct{}{}
	return !known
}

// opened counts a connection that is about to start.
func opened(c *h2.Conn) {
	openConns.Add(1)
	if why := c.WhyNot(); why != "" {
		unparkable.mu.Lock()
		defer unparkable.mu.Unlock()
		unparkable.add(c)
	}
}

// turnedOut notes that a connection can't be parked, as was found while it was read. It
// reports whether that is news; it is not if the connection has ended.
func turnedOut(c *h2.Conn) bool {
	unparkable.mu.Lock()
	defer unparkable.mu.Unlock()
	return c.Cause() == nil && unparkable.add(c)
}

// closed follows the end of a connection.
func closed(c *h2.Conn) {
	openConns.Add(-1)
	unparkable.mu.Lock()
	defer unparkable.mu.Unlock()
	delete(unparkable.conns, c)
}

// Unparkable counts the open connections that can't be parked, by the reason.
func Unparkable() map[string]int {
	reasons := make(map[string]int)
	unparkable.mu.Lock()
	defer unparkable.mu.Unlock()
	for c := range unparkable.conns {
		if why := c.WhyNot(); why != "" { // it may have turned out to be parkable
			reasons[why]++
		}
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
