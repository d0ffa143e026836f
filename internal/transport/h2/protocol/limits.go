// SPDX-License-Identifier: Apache-2.0

package protocol

import "time"

// What a peer may make us queue or do, beyond what SETTINGS and flow control
// bound already; what it makes us hold has its own bound (account.go). Past a bound on
// what is queued we stop reading, which costs a peer that behaves nothing but time.
// Past a bound on handlers we refuse streams: to stop reading would also stop the
// handlers there are. Past a bound on useless frames we close.
const (
	// MaxReplies is how many frames that the peer caused (acknowledgements,
	// resets) may wait for the socket before reading stops
	// (CVE-2019-9512, CVE-2019-9515, CVE-2025-8671).
	MaxReplies = 512

	// maxUpdates and updatesPerStream bound the window updates that wait for
	// the socket. A peer that obeys flow control can't cause more than four for each
	// window before it has read them; the bound is for one that does not wait for that.
	maxUpdates       = 4096
	updatesPerStream = 8

	// MaxOutput is how many bytes may be queued, behind the parcel that is being
	// written, when a stream is opened. A stream that is over has left the
	// table while its headers and trailers are still in the queue: nothing else
	// bounds the replies to a peer that does not read them.
	MaxOutput = 1 << 20

	// MaxOrphans is how many handlers may still run whose stream is gone before
	// streams are refused (CVE-2023-44487). A reset frees a place under
	// MAX_CONCURRENT_STREAMS at once, so that alone would bound nothing.
	//
	// handlerPatience is how long the reader waits first for one of them to
	// return. Most are about to: a reply may be read, and followed by the next
	// request, before the handler that sent it is gone. After a wait that timed out
	// there is no other until a handler has returned.
	MaxOrphans      = 1000
	HandlerPatience = 500 * time.Millisecond

	// MaxSettings is how many settings one frame may hold: RFC 9113 has six.
	MaxSettings = 256

	// maxFragments is how many frames one field block may be spread over on
	// top of one for every 1 KiB of it (CVE-2023-45288).
	maxFragments = 16

	// maxMalformed is how many bytes of a field block are taken that is known to fail its
	// stream.
	maxMalformed = 64 << 10

	// fragmentSlack is how many bytes a field block may be larger than the
	// limit on the list in it.
	fragmentSlack = 64 << 10

	// FloodLimit is how many frames without any use may come within
	// floodWindow, where each frame of use earns some back: PING, SETTINGS,
	// empty DATA, PRIORITY, frames for streams that are gone, unknown types.
	// What is earned and not needed is kept, up to floodCredit frames.
	FloodLimit  = 10_000
	floodCredit = 10_000
	floodWindow = 10 * time.Second
	usefulEarns = 16

	// streamsPerFrame is how many streams a frame may have us walk over for what a frame without
	// any use costs: a new initial window changes all streams that are open. 64 of them take
	// about 1 us.
	streamsPerFrame = 64
)
