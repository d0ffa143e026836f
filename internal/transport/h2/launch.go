// SPDX-License-Identifier: Apache-2.0

package h2

import "google.golang.org/grpc/internal/warm"

// launch runs a task on another goroutine. A reader that will probably park when it has dealt with the
// input keeps one task, to run it on its own goroutine after it has parked.
func (r *reader) launch(t warm.Task) {
	if r.in.act.next == nil && r.in.predictor.skips() && !r.in.swept && !r.quiet.rests() {
		r.in.act.next = t
		return
	}
	r.start(t)
}

// start runs t on another goroutine. GoOutside is possible because a connection that parks is not in a
// bubble of testing/synctest: see watched.
func (r *reader) start(t warm.Task) {
	if g := r.ground(); g != nil || r.in.parks == never {
		g.Go(t)
		return
	}
	warm.GoOutside(t)
}

// launchNext gives the task that launch kept to another goroutine, because the reader is about to wait,
// or to end.
func (r *reader) launchNext() {
	if t := r.in.act.next; t != nil {
		r.in.act.next = nil
		r.start(t)
	}
}
