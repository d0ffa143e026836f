// SPDX-License-Identifier: Apache-2.0

package protocol

// Frames is what one call of Send sends in one piece: a header block, a message, and trailers, each of
// them optional.
type Frames struct {
	Headers FieldSource

	// Prefix precedes Data in the same body. Data belongs to the connection, which frees it in every
	// case.
	Prefix  [5]byte
	HasData bool
	Data    Pieces
	// Optional means that the body may be left out. It is left out if it would have to wait for a
	// window while more than maxOptional streams are open, or while the peer makes us hold more than
	// the bound of the account.
	Optional bool
	// More is how many messages of this size will be queued next, on other streams. If it is not 0, the
	// sender of this message does not write: it leaves that to the senders of those messages, or to
	// Flush.
	More int

	Trailers FieldSource // end the stream
	End      bool        // END_STREAM on whatever comes last
}

// size returns the size of the message, in bytes.
func (f *Frames) size() int { return len(f.Prefix) + f.Data.Len() }

// copied returns how many bytes of the message have to be copied, if pieces of at least uncopied bytes
// are not.
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
