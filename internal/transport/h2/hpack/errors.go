// SPDX-License-Identifier: Apache-2.0

package hpack

import (
	"errors"
	"strconv"
)

// Error says why and where decoding a header block has failed. After it the dynamic table may be out of
// step with the peer's, so the connection has to end with COMPRESSION_ERROR (RFC 9113 section 4.3).
type Error struct {
	Offset int // where the wrong representation begins, in octets from the block's start
	Reason error
}

func (e *Error) Error() string {
	return "hpack: octet " + strconv.Itoa(e.Offset) + ": " + e.Reason.Error()
}

// Unwrap returns the reason alone.
func (e *Error) Unwrap() error { return e.Reason }

var (
	errTruncated       = errors.New("header block ends inside a representation")
	errIntegerOverflow = errors.New("integer is longer than five octets or than 32 bits")
	errIndexZero       = errors.New("index 0 is not used")
	errIndexTooLarge   = errors.New("index beyond the end of the dynamic table")
	errLateUpdate      = errors.New("dynamic table size update after the first field")
	errUpdateTooLarge  = errors.New("dynamic table size update above the allowed maximum")
	errUpdateMissing   = errors.New("no dynamic table size update after the maximum was reduced")
	errHuffmanPadding  = errors.New("padding of a Huffman string is other than up to 7 one bits")
	errHuffmanEOS      = errors.New("string contains the Huffman code of EOS")
)
