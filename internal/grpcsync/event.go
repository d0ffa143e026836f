// SPDX-License-Identifier: Apache-2.0

// Package grpcsync has an event, for modules beside this one; see package internal.
package grpcsync

import "sync"

// Event is something that happens once. Its methods may be called by many goroutines.
type Event struct {
	once sync.Once
	done chan struct{}
}

// NewEvent returns an event that has not happened.
func NewEvent() *Event { return &Event{done: make(chan struct{})} }

// Fire lets it happen. It reports whether it had not yet.
func (e *Event) Fire() (first bool) {
	e.once.Do(func() {
		close(e.done)
		first = true
	})
	return first
}

// Done is closed when it happens.
func (e *Event) Done() <-chan struct{} { return e.done }

// HasFired reports whether it has happened.
func (e *Event) HasFired() bool {
	select {
	case <-e.done:
		return true
	default:
		return false
	}
}
