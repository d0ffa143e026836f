// SPDX-License-Identifier: Apache-2.0

package h2

import "google.golang.org/grpc/internal/warm"

// launch runs a task. A reader that is likely to park when it has dealt with what came
// keeps one for that moment: it has a goroutine then that nobody needs.
func (r *reader) launch(t warm.Task) {
	if r.in.act.next == nil && r.habit.isSeldom() && !r.in.swept {
		r.in.act.next = t
		return
	}
	warm.Go(t)
}

// launchNext is for a reader that goes on to wait, or to its end.
func (r *reader) launchNext() {
	if t := r.in.act.next; t != nil {
		r.in.act.next = nil
		warm.Go(t)
	}
}
