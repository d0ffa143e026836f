// SPDX-License-Identifier: Apache-2.0

// Package grpcsync has the type Event, for modules that are developed with this one; see package
// internal.
package grpcsync

import "sync"

// Event is something that happens once. Its methods are safe for concurrent use.
type Event struct {
	once sync.Once
	done chan struct{}
}

// NewEvent returns an event that has not happened.
func NewEvent() *Event { return &Event{done: make(chan struct{})} }

// Fire makes the event happen. It returns false if it has happened already.
func (e *Event) Fire() (first bool) {
	e.once.Do(func() {
		close(e.done)
		first = true
	})
	return first
}

// Done returns a channel that is closed when the event happens.
func (e *Event) Done() <-chan struct{} { return e.done }

// HasFired reports whether the event has happened.
func (e *Event) HasFired() bool {
	select {
	case <-e.done:
		return true
	default:
		return false
	}
}
