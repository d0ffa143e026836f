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

// unfit has the reason of each connection.
type unfit struct {
	mu    sync.Mutex
	conns map[*h2.Conn]string
}

// add puts a connection in, and reports whether the reason is news. mu is held.
func (u *unfit) add(c *h2.Conn, why string) bool {
	if u.conns == nil {
		u.conns = make(map[*h2.Conn]string)
	}
	before := u.conns[c]
	u.conns[c] = why
	return before != why
}

// whyNot says why a connection can't be parked, "" if it can be.
func whyNot(c *h2.Conn) string {
	unparkable.mu.Lock()
	defer unparkable.mu.Unlock()
	if why := unparkable.conns[c]; why != "" {
		return why
	}
	return c.WhyNot()
}

// opened counts a connection that is about to start.
func opened(c *h2.Conn) {
	openConns.Add(1)
	if why := c.WhyNot(); why != "" {
		unparkable.mu.Lock()
		defer unparkable.mu.Unlock()
		unparkable.add(c, why)
	}
}

// noteUnwatched notes that the system refuses to watch a connection's socket. It reports whether that is news;
// it is not if the connection has ended.
func noteUnwatched(c *h2.Conn, why string) bool {
	unparkable.mu.Lock()
	defer unparkable.mu.Unlock()
	return c.Cause() == nil && unparkable.add(c, why)
}

// closed takes a connection that has ended off the counts.
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
	for _, why := range unparkable.conns {
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
