// SPDX-License-Identifier: Apache-2.0

package verdict

import "slices"

// Doubtful are the probes whose failure may be that the published module answers in more than one
// way, and whether another answer of its has to be the same as ours (true) or to differ (false). A
// probe that ours has broken off is not among them: that the other may hang as well excuses nothing.
func (r Report) Doubtful(ran []string, ours Lines, kept Kept) map[string]bool {
	doubtful := make(map[string]bool)
	for _, name := range r.Different {
		if !BrokenOff(ours[name]) {
			doubtful[name] = true
		}
	}
	for _, name := range ran {
		if entry, listed := kept.entry(name); listed && slices.Contains(r.Stale, entry) {
			doubtful[name] = false
		}
	}
	return doubtful
}

// Another returns the first of their answers that is the same as ours, or that is not. It asks for
// no more of them than it needs.
func Another(ours []string, same bool, answers func(yield func([]string) bool)) (theirs []string, found bool) {
	for theirs := range answers {
		if slices.Equal(ours, theirs) == same {
			return theirs, true
		}
	}
	return nil, false
}
