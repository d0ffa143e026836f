// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"errors"
	"fmt"

	"google.golang.org/grpc/internal/transport/h2/frame"
)

// ErrClosed is the cause of the end of a connection that its owner closed without giving a cause.
var ErrClosed = errors.New("connection closed")

// ErrDraining refuses a new stream on a connection that is going away
// (RFC 9113 section 6.8). Nothing of the stream reached the peer.
var ErrDraining = errors.New("connection is draining")

// ErrDrained is the cause of the end of a connection that closed after its last stream, because either
// side was draining it.
var ErrDrained = errors.New("connection closed after its last stream: it was draining")

// ErrNoPlace is returned by Open when the wait for a place under the peer's
// limit of concurrent streams was given up.
var ErrNoPlace = errors.New("gave up waiting for a place under the peer's stream limit")

// ErrStreamDone is returned for a frame that a stream can no longer send: it
// was reset, it ended, or its connection is gone.
var ErrStreamDone = errors.New("stream is done")

// ErrHeaderListTooLarge refuses header fields whose list size exceeds what the
// peer announced in SETTINGS_MAX_HEADER_LIST_SIZE. Nothing was sent.
type ErrHeaderListTooLarge struct{ Size, Max uint32 }

func (e *ErrHeaderListTooLarge) Error() string {
	return fmt.Sprintf("header list of %d bytes is larger than the peer's limit of %d", e.Size, e.Max)
}

// ConnError says why a connection ended, with an HTTP/2 error code.
type ConnError struct {
	Code   frame.ErrCode
	Reason string
	Remote bool // the peer sent it in a GOAWAY
}

// ErrNotAlive ends a connection whose peer did not answer keepalive's PING in time.
var ErrNotAlive = &ConnError{Code: frame.NoError, Reason: "keepalive ping failed to receive ACK within timeout"}

func (e *ConnError) Error() string {
	if e.Remote {
		return fmt.Sprintf("peer closed the connection with GOAWAY: %v, debug data: %q", e.Code, e.Reason)
	}
	return fmt.Sprintf("connection error %v: %s", e.Code, e.Reason)
}

// IOError says why a connection ended, if the reason was an I/O error.
type IOError struct {
	Op  string // "read" or "write"
	Err error
	// Before is the error of a write that failed before the read did; nil if none failed. Whether a write or a read finds a
	// connection broken first is chance, and programs look for one text. The kind of the failure may be in either.
	Before error
}

func (e *IOError) Error() string { return fmt.Sprintf("error %sing: %v", e.verb(), e.Err) }

// Unwrap returns Err and Before, for errors.Is and errors.As.
func (e *IOError) Unwrap() []error {
	if e.Before == nil {
		return []error{e.Err}
	}
	return []error{e.Err, e.Before}
}

func (e *IOError) verb() string {
	if e.Op == "write" {
		return "writ" // writing
	}
	return e.Op
}

// StreamError says why one stream ended before its time.
type StreamError struct {
	Code   frame.ErrCode
	Reason string
	Remote bool // the peer sent RST_STREAM
	// Unprocessed says that the peer has certainly not processed the stream: the peer refused it, or
	// named a lower last stream in a GOAWAY.
	Unprocessed bool
	Cause       error // why the connection ended, if that ended the stream
}

func (e *StreamError) Error() string {
	switch {
	case e.Cause != nil:
		return e.Cause.Error()
	case e.Remote && e.Reason == "":
		return fmt.Sprintf("stream terminated by RST_STREAM with error code: %v", e.Code)
	default:
		return fmt.Sprintf("stream error %v: %s", e.Code, e.Reason)
	}
}

func (e *StreamError) Unwrap() error { return e.Cause }
