// SPDX-License-Identifier: Apache-2.0

package client

import (
	"fmt"
	"time"
)

// cached returns the value in use, and whether there is one.
func (e *entry) cached() (any, bool) { return e.value, e.value != nil }

// greet tells a new watch what is known about the resource. lost says that no control plane can be reached.
func (e *entry) greet(w *watch, lost bool) {
	c := e.client
	v, ok := e.cached()
	switch {
	case ok:
		c.tell(w, func() { w.changed(v, nil) })
		switch err := e.ambient; {
		case err == nil:
		case lost || err != e.transient:
			c.tell(w, func() { w.ambient(err) })
		default:
			e.untold = true
		}
	case e.err != nil:
		err := e.err
		c.tell(w, func() { w.changed(nil, err) })
	case e.transient != nil && lost:
		err := e.transient
		c.tell(w, func() { w.changed(nil, err) })
	case e.transient != nil:
		e.untold = true
	}
}

// set takes over a new, valid version.
func (e *entry) set(value any, raw []byte, version string, from *server) {
	e.clearIgnored("it is there again")
	e.stopTimer()
	e.state, e.value, e.raw, e.version, e.from, e.updated = ACKed, value, raw, version, from, time.Now()
	e.err, e.errVersion, e.ambient, e.transient = nil, "", nil, nil
	for w := range e.watches {
		e.client.tell(w, func() { w.changed(value, nil) })
	}
}

// agrees reports whether the bytes of the version in use would have the same value if from had sent them.
func (e *entry) agrees(from *server) bool {
	return e.from == from || e.kind.alike(e.from.config, from.config)
}

// confirm takes over a version whose value is the one already in use. Watchers need not know that another server
// has sent it: for a server, for example, a new version of its Listener means to drain all connections (A36).
func (e *entry) confirm(version string, from *server) {
	e.clearIgnored("it is there again")
	e.state, e.version, e.from = ACKed, version, from
	e.err, e.errVersion, e.transient = nil, "", nil
	if e.ambient == nil {
		return
	}
	e.ambient = nil
	for w := range e.watches {
		e.client.tell(w, func() { w.ambient(nil) })
	}
}

// invalid takes over an error about a version: that it is not valid, or one that the control
// plane sent.
func (e *entry) invalid(state State, err error, version string, from *server) {
	e.stopTimer()
	if e.state == state && e.errVersion == version && e.err != nil && e.err.Error() == err.Error() {
		e.errTime = time.Now()
		return // watchers have been told already
	}
	e.state, e.err, e.errVersion, e.errTime = state, err, version, time.Now()
	e.fail(err, from.config.Features.FailOnDataErrors && e.client.config.DataErrors)
}

// deleted handles a resource that the control plane no longer has.
func (e *entry) deleted(from *server) {
	c, features := e.client, from.config.Features
	err := fmt.Errorf("%s %q: %w", e.kind.name(), e.name, errDeleted)
	if c.config.DataErrors { // A88
		if e.state == DoesNotExist {
			return
		}
		e.invalid(DoesNotExist, err, "", from)
		return
	}
	if features.IgnoreResourceDeletion { // A53
		if !e.ignored {
			e.ignored = true
			c.warnf("%s %q is deleted; it stays in use, as server feature ignore_resource_deletion has it", e.kind.name(), e.name)
		}
		return
	}
	e.state, e.err, e.errVersion, e.errTime = DoesNotExist, err, "", time.Now()
	e.fail(err, true)
}

// clearIgnored clears ignored, and logs why (A53).
func (e *entry) clearIgnored(why string) {
	if e.ignored {
		e.ignored = false
		e.client.logf("%s %q, which was deleted: %s", e.kind.name(), e.name, why)
	}
}

// fail tells watchers about an error. The value stays in use unless drop is true.
func (e *entry) fail(err error, drop bool) {
	e.told = err
	if drop {
		e.value, e.raw, e.from, e.ambient = nil, nil, nil, nil
	}
	c := e.client
	if _, ok := e.cached(); ok {
		e.ambient = err
		for w := range e.watches {
			c.tell(w, func() { w.ambient(err) })
		}
		return
	}
	for w := range e.watches {
		c.tell(w, func() { w.changed(nil, err) })
	}
}

// await starts the timer for the resource (A57), unless the resource has come or the timer
// is running.
func (e *entry) await(from *server) {
	if e.state != Requested || e.timer != nil {
		return
	}
	c := e.client
	after, state := c.config.ResourceTimeout, DoesNotExist
	if c.config.DataErrors && from.config.Features.ResourceTimerIsTransientError {
		after, state = 2*after, TimedOut
	}
	var timer *time.Timer
	timer = time.AfterFunc(after, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if e.timer == timer {
			e.late(state, after)
		}
	})
	e.timer, e.timerFrom = timer, from
}

// doubt forgets that there is no such resource, when it is requested anew after the control plane could not be
// reached (A57).
func (e *entry) doubt() {
	if e.value == nil && e.transient != nil && (e.state == DoesNotExist || e.state == TimedOut) {
		e.state, e.err, e.errVersion = Requested, nil, ""
	}
}

func (e *entry) late(state State, after time.Duration) {
	e.timer = nil
	cause := errNone
	if state == TimedOut {
		cause = errLate
	}
	e.state, e.errTime = state, time.Now()
	e.err = fmt.Errorf("%s %q did not come within %v: %w", e.kind.name(), e.name, after, cause)
	e.fail(e.err, false)
}

func (e *entry) stopTimer() {
	if e.timer != nil {
		e.timer.Stop()
		e.timer, e.timerFrom = nil, nil
	}
}

// reached clears the error that watchers got because no control plane could be reached. What they had been told
// before of the resource itself is still so.
func (e *entry) reached() {
	if e.transient == nil {
		return
	}
	over := e.told == e.transient // nothing newer has been told
	e.transient = nil
	switch {
	case !over:
	case e.err != nil:
		e.fail(e.err, false)
	case e.value != nil:
		e.ambient = nil
		for w := range e.watches {
			e.client.tell(w, func() { w.ambient(nil) })
		}
	}
}
