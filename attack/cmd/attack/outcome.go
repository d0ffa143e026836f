// SPDX-License-Identifier: Apache-2.0

package main

import (
	"time"

	"google.golang.org/grpc/attack/internal/kinds"
)

// outcome is what one run of a kind did to one implementation.
type outcome struct {
	Sent    int64         // bytes
	Streams int64         // that the attack opened, or the client
	Conns   int64         // connections
	RSS     int64         // bytes, at the most
	Heap    int64         // bytes that are live while the attack is held, beyond those before
	Left    int64         // bytes that are live when all its connections are closed, the same
	LeftGo  int64         // goroutines that are left then, beyond those before
	Go      int64         // goroutines, at the most
	CPU     time.Duration // of the victim
	Calls   int64         // legitimate
	Lost    int64         // of them, and of those on connections that attack
	P99     time.Duration
	Alive   bool // the victim is there, and answers
	Error   string
	GoAway  string // what it said when it first ended a connection that attacked
}

// row is a kind with what it did to both.
type row struct {
	Kind            kinds.Kind `json:"-"`
	Name, About     string
	Ours, Published outcome
	Faults          []string // what is worse than it may be
}
