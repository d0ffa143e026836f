// SPDX-License-Identifier: Apache-2.0

package protocol

import "time"

// Limits on what a peer may make us queue or do, beyond what SETTINGS and flow control limit already.
// What it makes us hold has a limit of its own (account.go). When too much is queued we stop reading,
// which costs a well-behaved peer nothing but time. When too many handlers run we refuse streams; to
// stop reading would also block the handlers that run. When too many useless frames come we close the
// connection.
const (
	// MaxReplies is how many frames that the peer caused (acknowledgements,
	// resets) may wait for the socket before reading stops
	// (CVE-2019-9512, CVE-2019-9515, CVE-2025-8671).
	MaxReplies = 512

	// maxUpdates and updatesPerStream bound the window updates that wait for the socket. A peer that
	// reads window updates before it sends more can't cause more than four for each window. The bound
	// is for a peer that sends without reading them.
	maxUpdates       = 4096
	updatesPerStream = 8

	// MaxOutput is how many bytes may be queued, behind the parcel that is being written, when the peer
	// opens a stream. A stream that is over is not in the table any more while its headers and trailers
	// are still queued. So nothing else bounds the replies to a peer that does not read them.
	MaxOutput = 1 << 20

	// MaxOrphans is how many handlers may run whose stream is gone, where the number of streams has no limit. With more,
	// new streams are refused (CVE-2023-44487). A reset frees a place under MAX_CONCURRENT_STREAMS at once, so
	// where there is a limit it counts these handlers too.
	//
	// HandlerPatience is how long the reader waits for one of these handlers to return before it
	// refuses a stream. Most are about to return: the peer may read a reply and send its next request
	// before the handler that sent the reply has returned. After a wait that timed out the reader does
	// not wait again until a quarter of the handlers that may run have returned.
	MaxOrphans      = 1000
	HandlerPatience = 500 * time.Millisecond

	// MaxSettings is how many settings one SETTINGS frame may hold: RFC 9113 defines six.
	MaxSettings = 256

	// maxFragments is how many frames one field block may be split into, in addition to one for every 1
	// KiB of it (CVE-2023-45288).
	maxFragments = 16

	// maxMalformed is how many bytes of a field block are read once it is known that the block will
	// fail its stream.
	maxMalformed = 64 << 10

	// fragmentSlack is how many bytes a field block may be larger than the limit on the header list in
	// it.
	fragmentSlack = 64 << 10

	// FloodLimit is how many useless frames may come within floodWindow: PING, SETTINGS, empty DATA,
	// PRIORITY, frames for streams that are gone (but for DATA and WINDOW_UPDATE), unknown types. Each
	// useful frame earns usefulEarns of them back. What is earned and not needed is kept, up to floodCredit
	// frames.
	FloodLimit  = 10_000
	floodCredit = 10_000
	floodWindow = 10 * time.Second
	usefulEarns = 16

	// streamsPerFrame is how many streams we iterate over for the price of one useless frame. A new
	// initial window changes all open streams, and 64 of them take about 1 us.
	streamsPerFrame = 64
)
