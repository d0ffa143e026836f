// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"time"

	"google.golang.org/grpc/internal/transport/h2/frame"
)

// nonsense counts frames that do no work. Pure.
type nonsense struct {
	n     int32
	since int32 // when n last rose above 0, in seconds of the clock
}

// useless records a frame that served nothing; an error ends the connection.
func (n *nonsense) useless(now time.Duration) error {
	sec := int32(now / time.Second)
	if n.n++; n.n == 1 {
		n.since = sec
	}
	if n.n <= nonsenseBudget {
		return nil
	}
	if sec-n.since > int32(nonsenseWindow/time.Second) {
		*n = nonsense{n: 1, since: sec}
		return nil
	}
	return frame.ConnError(frame.EnhanceYourCalm, "too many frames that serve nothing")
}

// walked records that a frame had us walk over so many streams. The next useless frame tells whether
// that was too much.
func (n *nonsense) walked(streams int, now time.Duration) {
	before := n.n
	if n.n += int32(streams / streamsPerFrame); before < 1 && n.n > 0 {
		n.since = int32(now / time.Second)
	}
}

// useful records a frame that opened, fed or ended a stream.
func (n *nonsense) useful() { n.earn(1) }

// earn records as many useful frames.
func (n *nonsense) earn(useful int) {
	if useful > 0 {
		n.n = max(-nonsenseCredit, n.n-usefulEarns*int32(min(useful, 1<<20)))
	}
}
