// SPDX-License-Identifier: Apache-2.0

package client

import (
	"fmt"
	"iter"
	"slices"
)

// entries iterates over the entries of all types.
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

// entryLocked returns the entry for a resource. If there is none, it adds one and subscribes to
// the resource.
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

// dropLocked removes an entry that has no watches any more. It also removes the authority if that
// was its last entry.
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

// openLocked starts to use the next server of the list.
func (a *authority) openLocked() {
	s := a.client.serverLocked(a.list[len(a.open)])
	a.open = append(a.open, s)
	s.users[a] = struct{}{}
	for _, e := range a.entries() {
		s.subscribeLocked(e)
	}
}

// closeToLocked stops using all servers but the first n.
func (a *authority) closeToLocked(n int) {
	if n == len(a.open) {
		return
	}
	for _, s := range a.open[n:] {
		for _, e := range a.entries() {
			s.unsubscribeLocked(e)
		}
		delete(s.users, a)
		s.releaseLocked()
	}
	clear(a.open[n:])
	a.open = a.open[:n]
	a.awaitLocked()
}

// awaitLocked starts the timers of resources whose timers have ended with the server that they belonged to.
// They now belong to another server that has been asked for the resource.
func (a *authority) awaitLocked() {
	for _, e := range a.entries() {
		for _, s := range a.open {
			if sub := s.subs[e.kind.url()]; s.stream != nil && sub != nil && sub.requested(e.name) {
				e.await(s)
			}
		}
	}
}

// usesLocked reports whether s is in use.
func (a *authority) usesLocked(s *server) bool { return slices.Contains(a.open, s) }

func (a *authority) closeLocked() { a.closeToLocked(0) }

// isLostLocked reports whether the last server in use can't be reached.
func (a *authority) isLostLocked() bool { return len(a.open) > 0 && a.open[len(a.open)-1].isLost() }

// failOverLocked starts to use further servers while the last server in use has failed and a
// resource is not cached (A71). When there are no further servers, it tells the watchers.
func (a *authority) failOverLocked() {
	if !a.isLostLocked() || !a.lacksLocked() {
		return
	}
	if len(a.open) < len(a.list) {
		a.client.logf("authority %q: %v fails; falling back to %v", a.key.name, a.list[len(a.open)-1], a.list[len(a.open)])
		a.openLocked()
		a.failOverLocked() // the new server may have failed already, for another authority
		return
	}
	a.reportLocked()
}

// reportLocked tells watchers that no server can be reached. It does not tell the same error twice, unless a watcher
// has not got it.
func (a *authority) reportLocked() {
	last := a.open[len(a.open)-1]
	if !last.isLost() || len(a.open) < len(a.list) {
		return
	}
	err := fmt.Errorf("control plane %v can't be reached: %w", last.config, last.failure)
	for _, e := range a.entries() {
		if e.untold || e.transient == nil || e.transient.Error() != err.Error() {
			e.fail(err, false)
			e.transient, e.untold = err, false
		}
	}
}

// lacksLocked reports whether there is a resource that is neither cached nor known not to exist.
func (a *authority) lacksLocked() bool {
	for _, e := range a.entries() {
		if e.value == nil && e.state != DoesNotExist {
			return true
		}
	}
	return false
}

// failedLocked falls back to another server after one has failed, and tells watchers if there is
// none left.
func (a *authority) failedLocked() {
	a.failOverLocked()
	a.reportLocked()
}

// backLocked clears the error that watchers got because no server could be reached.
func (a *authority) backLocked() {
	for _, e := range a.entries() {
		e.reached()
	}
}

// answeredLocked stops using the servers after s in the list, because s has sent a resource.
func (a *authority) answeredLocked(s *server) {
	for i, o := range a.open {
		if o == s {
			if i < len(a.open)-1 {
				a.client.logf("authority %q: %v is back", a.key.name, s.config)
			}
			a.closeToLocked(i + 1)
			s.askAnewLocked()
			return
		}
	}
}
