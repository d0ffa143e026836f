// SPDX-License-Identifier: Apache-2.0

package h2

// Receiver is what arrives for one stream. Its methods are called by the
// reader, one at a time and without any lock of the connection's. They must not
// block. After Reset, which may come at any moment from elsewhere, the frame at
// hand may still be delivered.
type Receiver interface {
	// OnHeaders brings a field block behind the first of a server's stream,
	// and every block of a client's. b is valid during the call. An error
	// resets the stream with the code it carries, if it is a frame.Error.
	OnHeaders(b *HeaderBlock, end bool) error
	// Take brings the next bytes of the body, which are p's during the call. For what is to
	// follow it may reserve ahead bytes, which is more than 0.
	//
	// Take and Filled return by how many bytes the stream's memory for what has arrived and
	// was not taken has grown since the last call of either; what was given to Consume and
	// Refund in between is not subtracted again.
	Take(p []byte, ahead int) (grew int, err error)
	// Space returns memory for at most n bytes of the body, of which none has arrived yet, and
	// Filled says how much of it was written: so a large message needs no copy. Space may
	// take no more than ahead bytes, or about as many as have arrived. Where that is not
	// enough it returns none, and there is no Filled; Take follows.
	Space(n, ahead int) []byte
	Filled(n int) (grew int, err error)
	// OnEnd says that the peer ended the stream with a DATA frame, or that a
	// stream was opened and ended by the same HEADERS. An error is as that of OnHeaders.
	OnEnd() error
	// OnAbort says that the stream is over for any other reason than the end
	// of both sides. It is called at most once, and nothing after it.
	OnAbort(err *StreamError)
}
