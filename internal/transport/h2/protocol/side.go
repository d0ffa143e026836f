// SPDX-License-Identifier: Apache-2.0

package protocol

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

// resetsUnread reports whether the side tells its peer to stop, if it has ended a stream on which the
// peer is still sending. RFC 9113 section 8.1 has the server do so with NO_ERROR.
func (s Side) resetsUnread() bool { return s == Server }

// stopsAtEnd reports whether the side sends nothing more on a stream that its peer has ended, because
// nobody reads the rest of a request whose response is complete. A server need not say that it stops
// reading: it "MAY request that the client abort transmission of a request without error by sending a
// RST_STREAM with an error code of NO_ERROR", section 8.1.
func (s Side) stopsAtEnd() bool { return s == Client }
