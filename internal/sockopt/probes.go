// SPDX-License-Identifier: Apache-2.0

package sockopt

import (
	"net"
	"time"

	"google.golang.org/grpc/internal/readyreader"
)

// SetProbes makes the system probe the TCP connection below conn as cfg says. If there is none, it does
// nothing.
func SetProbes(conn net.Conn, cfg net.KeepAliveConfig) {
	tcp, ok := readyreader.SocketBelow(conn).(*net.TCPConn)
	if !ok {
		tcp, ok = conn.(*net.TCPConn)
	}
	if ok {
		_ = tcp.SetKeepAliveConfig(cfg) // the connection works without
	}
}

// Package net's values for the fields that a KeepAliveConfig leaves out.
const (
	defaultProbeTime  = 15 * time.Second // Idle and Interval
	defaultProbeCount = 9
)

// ProbesEnd returns a user timeout that lets the system send all probes of cfg. With a shorter one Linux
// ends the connection when the first probe after it stays unanswered, whatever Count says. The result is 0
// if it is not known, because a field says to leave the system's value, or if there are no probes.
//
// The timeout ends half an interval before the wait for the last answer does: the system looks at the clock
// with each interval, which may come a little early.
func ProbesEnd(cfg net.KeepAliveConfig) time.Duration {
	if !cfg.Enable || cfg.Idle < 0 || cfg.Interval < 0 || cfg.Count < 0 {
		return 0
	}
	idle, interval, count := cfg.Idle, cfg.Interval, cfg.Count
	if idle == 0 {
		idle = defaultProbeTime
	}
	if interval == 0 {
		interval = defaultProbeTime
	}
	if count == 0 {
		count = defaultProbeCount
	}
	idle, interval = wholeSeconds(idle), wholeSeconds(interval)
	return idle + interval*time.Duration(count) - interval/2
}

// wholeSeconds rounds up, as package net does: the system counts seconds.
func wholeSeconds(d time.Duration) time.Duration { return (d + time.Second - 1).Truncate(time.Second) }
