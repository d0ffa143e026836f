// SPDX-License-Identifier: Apache-2.0

package h2

import "google.golang.org/grpc/internal/transport/h2/frame"

// Side is an end of a connection. It is all that distinguishes a client from a
// server here.
type Side uint8

// The two sides.
const (
	Client Side = iota
	Server
)

// opens reports whether id is one of the side's own streams: "Streams initiated
// by a client MUST use odd-numbered stream identifiers", RFC 9113 section 5.1.1.
func (s Side) opens(id uint32) bool { return (id&1 == 1) == (s == Client) }

func (s Side) other() Side { return 1 - s }

func (s Side) firstStreamID() uint32 {
	if s == Client {
		return 1
	}
	return 2
}

// peerMayOpen reports whether the peer may open id with HEADERS. A server opens
// streams by PUSH_PROMISE only, which we have disabled.
func (s Side) peerMayOpen(id uint32) bool { return s == Server && !s.opens(id) }

// resetsUnread reports whether the side, having ended a stream that its peer is
// still sending on, tells it to stop. RFC 9113 section 8.1 has the server do so
// with NO_ERROR.
func (s Side) resetsUnread() bool { return s == Server }

// stopsAtEnd reports whether the side has nothing more to say on a stream that
// its peer has ended: nobody reads the rest of a request whose response is
// complete. A server need not say so: it "MAY request that the client abort
// transmission of a request without error by sending a RST_STREAM with an error
// code of NO_ERROR", section 8.1.
func (s Side) stopsAtEnd() bool { return s == Client }

// Handler is what a connection tells the role that owns it. All methods are
// called by the reader, one at a time. None may block or wait for anything that
// needs the connection to be read.
type Handler interface {
	// Accept returns the stream for a field block with which the peer opens a
	// stream. The stream is set up with Init and not yet known to the
	// connection: nothing can be sent on it until Opened. An error refuses it
	// as the error says. Only servers are asked. b may be TooLarge: fields are then
	// missing.
	Accept(b *HeaderBlock, end bool) (*Stream, error)
	// Opened follows each Accept that succeeded, once frames can be sent.
	Opened(s *Stream, end bool)
	// BatchEnd says that the reader is about to wait for input.
	BatchEnd()
	// Ready says that the peer's first SETTINGS arrived: it speaks HTTP/2.
	Ready()
	// PingReceived is asked about each PING of the peer's; an error ends the
	// connection. streams is how many are open, sent whether HEADERS or DATA
	// went out since the last PING.
	PingReceived(streams int, sent bool) error
	// GoAway says that the peer takes no more streams. Those above the last
	// one it named are failed as unprocessed right after.
	GoAway(code frame.ErrCode, debug string)
	// Closed is the last call: the connection is gone, and why. Streams that
	// were open are told after it. Where Close comes before Start, it is called
	// by Close.
	Closed(err error)
}

// Receiver is what arrives for one stream. Its methods are called by the
// reader, one at a time and without any lock of the connection's. They must not
// block. After Reset, which may come at any moment from elsewhere, the frame at
// hand may still be delivered.
type Receiver interface {
	// OnHeaders brings a field block behind the first of a server's stream,
	// and every block of a client's. b is valid during the call. An error
	// resets the stream with the code it carries, if it is a frame.Error.
	OnHeaders(b *HeaderBlock, end bool) error
	// Space returns memory for at most n bytes of the body; Filled says how much of
	// it was written, and returns by how many bytes of memory the stream now holds
	// more, for what has arrived and was not taken, than after the call before and
	// what was given to Consume and Refund. They are called in turn. For what has not arrived yet no
	// more than ahead bytes may be taken, or about as many as have arrived. Where
	// that is not enough Space returns none, and is called again, without Filled,
	// when there are bytes, and ahead is not 0.
	Space(n, ahead int) []byte
	Filled(n int) (grew int, err error)
	// OnEnd says that the peer ended the stream with a DATA frame, or that a
	// stream was opened and ended by the same HEADERS. An error is as that of OnHeaders.
	OnEnd() error
	// OnAbort says that the stream is over for any other reason than the end
	// of both sides. It is called at most once, and nothing after it.
	OnAbort(err *StreamError)
}

// FieldSource is a list of header fields to send.
type FieldSource interface {
	// AppendFields writes the fields to w. It is called with the connection's
	// lock held, at most twice with the same result, and must do nothing but
	// write.
	AppendFields(w *FieldWriter)
}
