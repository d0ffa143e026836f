// SPDX-License-Identifier: Apache-2.0

package protocol

// Receiver takes what arrives for one stream. The reader calls its methods, one at a time and without
// any lock of the connection. They must not block. Another goroutine may call Reset at any moment; the
// current frame may still be delivered after that.
type Receiver interface {
	// OnHeaders delivers a field block: on a client every block, on a server the blocks after the
	// first, which Handler.Accept gets. b is valid during the call. An error resets the stream, with
	// the code of a frame.Error if it is one, else with CANCEL.
	OnHeaders(b *HeaderBlock, end bool) error
	// Take delivers the next bytes of the body, which are valid during the call. It may reserve up to
	// ahead bytes of memory for the bytes that follow p. ahead is more than 0. rest is how many bytes follow
	// p in the same frame: the windows count them as arrived.
	//
	// Take and Filled return by how many bytes the stream's memory has grown since the last call of
	// either: the memory for what has arrived and the application has not taken. They do not subtract
	// what was given to Consume and Refund meanwhile.
	Take(p []byte, ahead, rest int) (grew int, err error)
	// Space returns memory, of at most n bytes, for the next bytes of the body, which are all that is left
	// of the frame, and none of which has arrived yet. The reader reads into it, and Filled says how many bytes it has read. So a large
	// message needs no copy. Space may reserve no more than ahead bytes, or about as many as have
	// arrived. If that is not enough it returns nil; then Take follows, and Filled is not called.
	Space(n, ahead int) []byte
	Filled(n int) (grew int, err error)
	// OnEnd says that the peer has ended the stream with a DATA frame, or that one HEADERS frame has
	// opened and ended the stream. An error has the same effect as one of OnHeaders.
	OnEnd() error
	// OnAbort says that the stream is over for any reason other than the end of both sides. It is
	// called at most once, and no other method is called after it.
	OnAbort(err *StreamError)
}
