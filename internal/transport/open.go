// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/internal/shrink"
	"google.golang.org/grpc/internal/transport/h2"
)

// openConns counts the connections of both sides, from when they are made until their owner
// is told Closed.
var openConns atomic.Int64

// unparkable are the open connections that can't be parked.
var unparkable unparkableConns

// unparkableConns has the reason for each connection.
type unparkableConns struct {
	mu    sync.Mutex
	conns map[*h2.Conn]string
	most  int // see shrink.Delete
}

// add records why c can't be parked, and reports whether the reason is new. mu is held.
func (u *unparkableConns) add(c *h2.Conn, why string) bool {
	if u.conns == nil {
		u.conns = make(map[*h2.Conn]string)
	}
	before := u.conns[c]
	u.conns[c] = why
	return before != why
}

// whyNot returns why a connection can't be parked, or "" if it can be.
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

// noteUnwatched records that the system refuses to watch a connection's socket. It reports whether that is
// news; it is not if the connection has ended.
func noteUnwatched(c *h2.Conn, why string) bool {
	unparkable.mu.Lock()
	defer unparkable.mu.Unlock()
	return c.Cause() == nil && unparkable.add(c, why)
}

// noteWatched takes back noteUnwatched: the connection is parked.
func noteWatched(c *h2.Conn) {
	unparkable.mu.Lock()
	defer unparkable.mu.Unlock()
	unparkable.conns = shrink.Delete(unparkable.conns, c, &unparkable.most)
}

// closed removes a connection that has ended from the counts.
func closed(c *h2.Conn) {
	openConns.Add(-1)
	unparkable.mu.Lock()
	defer unparkable.mu.Unlock()
	unparkable.conns = shrink.Delete(unparkable.conns, c, &unparkable.most)
}

// Unparkable counts the open connections that can't be parked, by reason.
func Unparkable() map[string]int {
	reasons := make(map[string]int)
	unparkable.mu.Lock()
	defer unparkable.mu.Unlock()
	for _, why := range unparkable.conns {
		reasons[why]++
	}
	return reasons
}

// OpenConns returns how many HTTP/2 connections the process has open, those that it accepted and those that
// it dialed, from the end of their handshake on. A connection within the process counts twice, once for
// each end. Connections of a net/http server do not count.
func OpenConns() int64 { return openConns.Load() }

// BytesHeld returns how many bytes of memory the peers of these connections make them hold.
func BytesHeld() int64 { return h2.BytesHeld() }
