// SPDX-License-Identifier: Apache-2.0

package client

import (
	"fmt"
	"iter"
)

// entries returns all.
func (a *authority) entries() iter.Seq2[string, *entry] {
	return func(yield func(string, *entry) bool) {
		for _, byName := range a.resources {
			for name, e := range byName {
				if !yield(name, e) {
					return
				}
			}
		}
	}
}

// entryLocked returns the entry for a resource, and asks for it if nobody has.
func (a *authority) entryLocked(k kind, name string) *entry {
	byName := a.resources[k.url()]
	if byName == nil {
		byName = make(map[string]*entry)
		a.resources[k.url()] = byName
	}
	e, ok := byName[name]
	if !ok {
		e = &entry{client: a.client, user: a, kind: k, name: name, watches: make(map[*watch]struct{})}
		byName[name] = e
		for _, s := range a.open {
			s.subscribeLocked(e)
		}
	}
	return e
}

// dropLocked forgets an entry that nobody watches, and the authority with its last one.
func (a *authority) dropLocked(e *entry) {
	e.stopTimer()
	e.clearIgnored("nobody watches it any more")
	byName := a.resources[e.kind.url()]
	if byName[e.name] != e {
		return
	}
	for _, s := range a.open {
		s.unsubscribeLocked(e)
	}
	delete(byName, e.name)
	if len(byName) > 0 {
		return
	}
	delete(a.resources, e.kind.url())
	if len(a.resources) == 0 {
		a.closeLocked()
		delete(a.client.authorities, a.key)
	}
}

// openLocked brings the next server of the list into use.
func (a *authority) openLocked() {
	s := a.client.serverLocked(a.list[len(a.open)])
	a.open = append(a.open, s)
	s.users[a] = struct{}{}
	for _, e := range a.entries() {
		s.subscribeLocked(e)
	}
}

// closeToLocked leaves the first n servers in use.
func (a *authority) closeToLocked(n int) {
	for _, s := range a.open[n:] {
		for _, e := range a.entries() {
			s.unsubscribeLocked(e)
		}
		delete(s.users, a)
		s.releaseLocked()
	}
	clear(a.open[n:])
	a.open = a.open[:n]
}

func (a *authority) closeLocked() { a.closeToLocked(0) }

// failOverLocked brings more servers into use while the last one in use has failed and there is
// something that is not cached (A71). When none is left watchers are told.
func (a *authority) failOverLocked() {
	if len(a.open) == 0 || a.open[len(a.open)-1].failure == nil || !a.lacksLocked() {
		return
	}
	if len(a.open) < len(a.list) {
		a.client.logf("authority %q: %v fails; falling back to %v", a.key.name, a.list[len(a.open)-1], a.list[len(a.open)])
		a.openLocked()
		a.failOverLocked() // another authority may know that this one fails too
		return
	}
	a.reportLocked()
}

// reportLocked tells watchers that no server can be reached. Those who know are not told again.
func (a *authority) reportLocked() {
	last := a.open[len(a.open)-1]
	if last.failure == nil || len(a.open) < len(a.list) {
		return
	}
	err := fmt.Errorf("control plane %v can't be reached: %w", last.config, last.failure)
	for _, e := range a.entries() {
		if e.transient == nil || e.transient.Error() != err.Error() {
			e.fail(err, false)
			e.transient = err
		}
	}
}

// lacksLocked reports whether something is neither there nor known to be nowhere.
func (a *authority) lacksLocked() bool {
	for _, e := range a.entries() {
		if e.value == nil && e.state != DoesNotExist {
			return true
		}
	}
	return false
}

// failedLocked looks for another server after one has failed, and tells watchers if there is none.
func (a *authority) failedLocked() {
	a.failOverLocked()
	a.reportLocked()
}

// backLocked ends what watchers were told of servers that can't be reached.
func (a *authority) backLocked() {
	for _, e := range a.entries() {
		e.reached()
	}
}

// answeredLocked is about a server that had a resource: those after it are not needed.
func (a *authority) answeredLocked(s *server) {
	for i, o := range a.open {
		if o == s {
			if i < len(a.open)-1 {
				a.client.logf("authority %q: %v is back", a.key.name, s.config)
			}
			a.closeToLocked(i + 1)
			return
		}
	}
}
