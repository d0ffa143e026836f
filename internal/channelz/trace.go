// SPDX-License-Identifier: Apache-2.0

package channelz

import (
	"strings"
	"sync"
	"time"
)

// maxTraceEvents is how many events a node keeps. A new event replaces the oldest.
const maxTraceEvents = 30

// maxTraceText is how many bytes of its text an event keeps. Peers can determine parts of the
// text, such as a GOAWAY's debug data or a proxy's response.
const maxTraceText = 2 << 10

// Severity says how bad a TraceEvent is. The values are those of the channelz protocol.
type Severity uint8

// The severities.
const (
	Unknown Severity = iota
	Info
	Warning
	Error
)

// TraceEvent is something that happened to a node.
type TraceEvent struct {
	Time     time.Time
	Severity Severity
	Text     string
	// Subject is the child that the event is about. Its ID is 0 if there is none.
	Subject Ref
}

// Trace is a copy of a node's trace.
type Trace struct {
	Created time.Time
	// Logged is how many events there were, including those that are no longer kept.
	Logged int64
	// Events are the newest events, oldest first.
	Events []TraceEvent
}

// clip returns the part of text that an event keeps, in UTF-8: a peer may have sent any bytes of it.
func clip(text string) string {
	if len(text) <= maxTraceText {
		return strings.ToValidUTF8(text, "\ufffd")
	}
	return strings.ToValidUTF8(text[:maxTraceText], "") + "..."
}

// trace is a ring of the newest events.
type trace struct {
	created time.Time // immutable

	mu     sync.Mutex
	logged int64
	ring   []TraceEvent // grows to maxTraceEvents; after that the oldest event is at logged % len
}

// add adds e, and returns the event that e replaces, or the zero event if there is none.
func (t *trace) add(e TraceEvent) (old TraceEvent) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.ring) < maxTraceEvents {
		t.ring = append(t.ring, e)
	} else {
		at := t.logged % maxTraceEvents
		old, t.ring[at] = t.ring[at], e
	}
	t.logged++
	return old
}

// end removes all events and returns them.
func (t *trace) end() []TraceEvent {
	t.mu.Lock()
	defer t.mu.Unlock()
	events := t.ring
	t.ring, t.logged = nil, 0
	return events
}

func (t *trace) copy() Trace {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := Trace{Created: t.created, Logged: t.logged}
	oldest := 0
	if len(t.ring) == maxTraceEvents {
		oldest = int(t.logged % maxTraceEvents)
	}
	c.Events = append(c.Events, t.ring[oldest:]...)
	c.Events = append(c.Events, t.ring[:oldest]...)
	return c
}
