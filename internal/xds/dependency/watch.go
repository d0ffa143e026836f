// SPDX-License-Identifier: Apache-2.0

package dependency

import "google.golang.org/grpc/internal/xds/client"

// watch is the watch of one resource. The agenda's mutex guards it.
type watch[T any] struct {
	agenda *agenda
	name   string
	cancel func()
	gone   bool
	need

	value T
	has   bool
	err   error // why there is no value; nil if nothing is known yet
}

// startLocked starts a watch.
func startLocked[T any](a *agenda, c *client.Client, t *client.Type[T], name string) *watch[T] {
	w := &watch[T]{agenda: a, name: name}
	w.cancel = client.Watch(c, t, name, w)
	return w
}

// stopLocked ends the watch. w may be nil.
func (w *watch[T]) stopLocked() {
	if w != nil {
		w.gone = true
		w.cancel()
	}
}

// known reports whether the resource, or an error, is known.
func (w *watch[T]) known() bool { return w.has || w.err != nil }

// Changed implements client.Watcher.
func (w *watch[T]) Changed(v T, err error) {
	w.agenda.mu.Lock()
	defer w.agenda.mu.Unlock()
	if w.gone {
		return
	}
	if w.err, w.has = err, err == nil; err != nil {
		var none T
		v = none
	}
	w.value = v
	w.agenda.touchLocked()
}

// Ambient implements client.Watcher. The current value stays in use (A74).
func (w *watch[T]) Ambient(error) {}
