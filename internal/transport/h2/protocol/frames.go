// SPDX-License-Identifier: Apache-2.0

package protocol

// Frames is what one call of Send puts on the wire in one piece: a header
// block, a message, trailers, each of them optional.
type Frames struct {
	Headers FieldSource

	// Prefix precedes Data in the same body. Data is given to the connection,
	// which frees it in every case.
	Prefix  [5]byte
	HasData bool
	Data    Pieces
	// Optional says that the body is left out where it would have to wait for a window, and
	// more than maxOptional streams are open, or the peer makes us hold more than the bound of
	// the account.
	Optional bool
	// More is how many messages of this size are queued next, on other streams. If it is not
	// 0, the sender of this leaves it to them, or to Flush, to write all that is queued.
	More int

	Trailers FieldSource // end the stream
	End      bool        // END_STREAM on whatever comes last
}

// size is that of the message, in bytes.
func (f *Frames) size() int { return len(f.Prefix) + f.Data.Len() }

// copied is how much of the message has to be copied, in bytes, where pieces of at least uncopied
// bytes are not.
func (f *Frames) copied(uncopied int) int {
	n := len(f.Prefix)
	for d := range f.Data.All() {
		if k := d.Len(); k < uncopied {
			n += k
		}
	}
	return n
}

// ends reports whether the local side is done once the frames are sent.
func (f *Frames) ends() bool { return f.End || f.Trailers != nil }
