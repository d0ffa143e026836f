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
	conns map[*h2.Conn]unfitness
}

// unfitness is what was told of a connection. It may be another reason later.
type unfitness struct {
	told    string
	refused bool // by the system, which only that says
}

// add puts a connection in, and reports whether the reason is news. mu is held.
func (u *unfit) add(c *h2.Conn, why string, refused bool) bool {
	if u.conns == nil {
		u.conns = make(map[*h2.Conn]unfitness)
	}
	before := u.conns[c]
	if before.refused {
		return false
	}
	u.conns[c] = unfitness{why, refused}
	return before.told != why
}

// why says why an open connection can't be parked, "" if it can be. mu is held.
func (u *unfit) why(c *h2.Conn) string {
	if known := u.conns[c]; known.refused {
		return known.told
	}
	return c.WhyNot()
}

// whyNot is the same for any connection.
func whyNot(c *h2.Conn) string {
	unparkable.mu.Lock()
	defer unparkable.mu.Unlock()
	return unparkable.why(c)
}

// opened counts a connection that is about to start.
func opened(c *h2.Conn) {
	openConns.Add(1)
	if why := c.WhyNot(); why != "" {
		unparkable.mu.Lock()
		defer unparkable.mu.Unlock()
		unparkable.add(c, why, false)
	}
}

// turnedOut notes that a connection can't be parked, as was found while it was read. It
// reports whether that is news; it is not if the connection has ended.
func turnedOut(c *h2.Conn, why string, refused bool) bool {
	unparkable.mu.Lock()
	defer unparkable.mu.Unlock()
	return c.Cause() == nil && unparkable.add(c, why, refused)
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
		if why := unparkable.why(c); why != "" { // it may have turned out to be parkable
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
