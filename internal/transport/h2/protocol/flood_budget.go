// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"time"

	"google.golang.org/grpc/internal/transport/h2/frame"
)

// floodBudget counts frames that do nothing useful. Pure.
type floodBudget struct {
	n     int32
	since int32 // when n last rose above 0, in seconds of the clock
}

// useless records a frame that did nothing useful. It returns an error, which ends the connection,
// after too many of them.
func (n *floodBudget) useless(now time.Duration) error {
	sec := int32(now / time.Second)
	if n.n++; n.n == 1 {
		n.since = sec
	}
	if n.n <= FloodLimit {
		return nil
	}
	if sec-n.since > int32(floodWindow/time.Second) {
		*n = floodBudget{n: 1, since: sec}
		return nil
	}
	return frame.ConnError(frame.EnhanceYourCalm, "too many frames that serve nothing")
}

// walked records that a frame made us iterate over so many streams. The next useless frame finds out
// whether that was too much.
func (n *floodBudget) walked(streams int, now time.Duration) {
	before := n.n
	if n.n += int32(streams / streamsPerFrame); before < 1 && n.n > 0 {
		n.since = int32(now / time.Second)
	}
}

// useful records a frame that opened, fed or ended a stream.
func (n *floodBudget) useful() { n.earn(usefulEarns) }

// earn takes so many frames off the count of useless ones. Below zero the count is a credit for later
// ones.
func (n *floodBudget) earn(useless int) {
	if useless > 0 {
		n.n = max(-floodCredit, n.n-int32(min(useless, FloodLimit+floodCredit)))
	}
}
