// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"time"

	"google.golang.org/grpc/internal/transport/h2/frame"
)

// What a peer may make us hold or do, beyond what SETTINGS and flow control
// bound already. Past a bound on memory we stop reading, which costs a peer
// that behaves nothing but time. Past a bound on nonsense we close.
const (
	// maxReplies is how many frames that the peer caused (acknowledgements,
	// resets) may wait for the socket before reading stops
	// (CVE-2019-9512, CVE-2019-9515, CVE-2025-8671). Window updates are not
	// counted: each stands for data that arrived, and flow control bounds it.
	maxReplies = 512

	// maxZombies is how many handlers may still run whose stream the peer has
	// reset before reading stops (CVE-2023-44487). A reset frees a place under
	// MAX_CONCURRENT_STREAMS at once, so that alone would bound nothing.
	maxZombies = 256

	// maxFragments is how many frames one field block may be spread over on
	// top of one for every 1 KiB of it (CVE-2023-45288).
	maxFragments = 16

	// nonsenseBudget is how many frames without any use may come within
	// nonsenseWindow, where each frame of use earns some back: PING, SETTINGS,
	// empty DATA, PRIORITY, frames for streams that are gone, unknown types.
	nonsenseBudget = 10_000
	nonsenseWindow = 10 * time.Second
	usefulEarns    = 16
)

// nonsense counts frames that do no work. Pure.
type nonsense struct {
	n     int
	since time.Time // when counting began
}

// useless records a frame that served nothing; an error ends the connection.
func (n *nonsense) useless(now time.Time) error {
	if n.n++; n.n == 1 {
		n.since = now
	}
	if n.n <= nonsenseBudget {
		return nil
	}
	if now.Sub(n.since) > nonsenseWindow {
		*n = nonsense{n: 1, since: now}
		return nil
	}
	return frame.ConnError(frame.EnhanceYourCalm, "too many frames that serve nothing")
}

// useful records a frame that opened, fed or ended a stream.
func (n *nonsense) useful() { n.n = max(0, n.n-usefulEarns) }

func (c *Conn) useless() error { return c.nonsense.useless(c.now) }
