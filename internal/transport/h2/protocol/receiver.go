// SPDX-License-Identifier: Apache-2.0

package protocol

// Receiver is what arrives for one stream. Its methods are called by the
// reader, one at a time and without any lock of the connection's. They must not
// block. After Reset, which may come at any moment from elsewhere, the frame at
// hand may still be delivered.
type Receiver interface {
	// OnHeaders brings a field block: on a client each one, on a server those after the
	// first, which Handler.Accept gets. b is valid during the call. An error resets the
	// stream, with the code of a frame.Error if it is one, else with CANCEL.
	OnHeaders(b *HeaderBlock, end bool) error
	// Take brings the next bytes of the body, which are valid during the call. Memory for
	// the bytes that follow it may reserve up to ahead, which is more than 0.
	//
	// Take and Filled return by how many bytes the memory has grown, since the last call of
	// either, that the stream holds for what has arrived and was not taken. What was given
	// to Consume and Refund meanwhile is not subtracted again.
	Take(p []byte, ahead int) (grew int, err error)
	// Space returns memory, of at most n bytes, to which the next bytes of the body are
	// read, none of which has arrived yet, and Filled says how many were: so a large
	// message needs no copy. Space may reserve no more than ahead bytes, or about as many
	// as have arrived. Where that is not enough it returns nil; Filled is not called then,
	// and Take follows.
	Space(n, ahead int) []byte
	Filled(n int) (grew int, err error)
	// OnEnd says that the peer ended the stream with a DATA frame, or that a
	// stream was opened and ended by the same HEADERS. An error is as that of OnHeaders.
	OnEnd() error
	// OnAbort says that the stream is over for any other reason than the end
	// of both sides. It is called at most once, and nothing after it.
	OnAbort(err *StreamError)
}
