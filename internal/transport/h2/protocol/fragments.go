// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/internal/transport/h2/hpack"
	"google.golang.org/grpc/mem"
)

// fragments gathers one field block out of HEADERS and CONTINUATION frames. Owned by
// the reader.
type fragments struct {
	id     uint32 // the stream whose block is open, 0 if none is
	end    bool   // END_STREAM came with the HEADERS frame
	void   error  // a stream error that the HEADERS frame already deserved
	frames int
	pile
	skimmer   hpack.Skimmer
	malformed bool // the skimmer found it so, or the HEADERS frame was
}

func (f *fragments) begin(id uint32, end bool, void error) {
	f.id, f.end, f.void, f.frames = id, end, void, 0
	f.skimmer, f.malformed = hpack.Skimmer{}, void != nil
}

// add appends the fragment of one frame. limit is that of the header list: a compressed list
// has no use for more. Up to fragmentSlack more are let through all the same: the decoder then
// fails the stream, and not the connection.
func (f *fragments) add(p []byte, limit uint32, pool mem.BufferPool) error {
	f.frames++
	if uint64(f.size+len(p)) > uint64(limit)+fragmentSlack {
		return frame.ConnError(frame.EnhanceYourCalm, "field block larger than the header list limit")
	}
	if f.frames > maxFragments+f.size>>10 {
		return frame.ConnError(frame.EnhanceYourCalm, "field block in too many CONTINUATION frames")
	}
	f.pile.add(p, pool)
	// "Malformed requests or responses that are detected MUST be treated as a stream
	// error", RFC 9113 section 8.1.1; but the block would have to be kept to its end for
	// the sake of the HPACK table, and a connection may end for the error of a stream.
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
