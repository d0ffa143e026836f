// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/internal/transport/h2/hpack"
	"google.golang.org/grpc/mem"
)

// fragments gathers the field block of one stream from HEADERS and CONTINUATION frames. The reader owns
// it.
type fragments struct {
	id     uint32 // the stream whose block is open, 0 if none is
	end    bool   // END_STREAM came with the HEADERS frame
	void   error  // the stream error that the HEADERS frame caused, if any
	frames int
	pile
	skimmer   hpack.Skimmer
	malformed bool // the skimmer says so, or the HEADERS frame was malformed
}

func (f *fragments) begin(id uint32, end bool, void error) {
	f.id, f.end, f.void, f.frames = id, end, void, 0
	f.skimmer, f.malformed = hpack.Skimmer{}, void != nil
}

// add appends the fragment of one frame. limit is the limit of the header list; a compressed block is
// hardly ever larger than its list. Up to fragmentSlack more bytes are taken all the same, so that the
// decoder finds the list too large and only the stream fails, not the connection.
func (f *fragments) add(p []byte, limit uint32, pool mem.BufferPool) error {
	f.frames++
	if uint64(f.size+len(p)) > uint64(limit)+fragmentSlack {
		return frame.ConnError(frame.EnhanceYourCalm, "field block larger than the header list limit")
	}
	if f.frames > maxFragments+f.size>>10 {
		return frame.ConnError(frame.EnhanceYourCalm, "field block in too many CONTINUATION frames")
	}
	f.pile.add(p, pool)
	// "Malformed requests or responses that are detected MUST be treated as a stream error", RFC 9113
	// section 8.1.1. For a stream error the block would have to be gathered to its end, to keep the
	// HPACK table in step. A stream error may also end the connection, so a malformed block that goes
	// on for too long does.
	f.malformed = f.malformed || f.skimmer.Add(p)
	if f.malformed && f.size > maxMalformed {
		return frame.ConnError(frame.ProtocolError, "malformed field block that goes on")
	}
	return nil
}

// drop ends the block and gives its memory back.
func (f *fragments) drop(pool mem.BufferPool) {
	f.id, f.void = 0, nil
	f.pile.drop(pool)
}
