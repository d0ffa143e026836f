// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"errors"

	"google.golang.org/grpc/internal/transport/h2/frame"
)

// violation is the one place that turns an error of the read side into frames:
// a stream's error resets the stream, everything else ends the connection. It
// returns the error that ends the read loop, nil to go on.
func (r *reader) violation(err error) error {
	var fe frame.Error
	if !errors.As(err, &fe) {
		return err // a ConnError, or an error of the socket
	}
	if !fe.IsConn() {
		return r.resetByRule(fe)
	}
	return &ConnError{Code: fe.Code, Reason: fe.Reason}
}

// resetByRule resets the stream that fe names, whether or not it still exists.
func (r *reader) resetByRule(fe frame.Error) error {
	c := r.lock()
	s := c.streams.get(fe.StreamID)
	if s == nil && c.streams.unopened(fe.StreamID) {
		// "RST_STREAM frames MUST NOT be sent for a stream in the 'idle'
		// state", section 6.4.
		c.unlock()
		return &ConnError{Code: fe.Code, Reason: fe.Reason}
	}
	c.out.reset(fe.StreamID, fe.Code)
	c.out.replies++
	r.in.act.caused = true
	if s == nil {
		c.unlock()
		return asConnError(r.in.act.useless())
	}
	c.abandon(s, sendReset)
	c.unlock()
	s.recv.OnAbort(&StreamError{Code: fe.Code, Reason: fe.Reason})
	return nil
}

// asConnError turns a frame.Error into the ConnError that ends the connection.
func asConnError(err error) error {
	var fe frame.Error
	if errors.As(err, &fe) {
		return &ConnError{Code: fe.Code, Reason: fe.Reason}
	}
	return err
}

// streamFault ends s for what its Receiver found wrong, or a rule of HTTP/2.
func (r *reader) streamFault(s *stream, err error) error {
	fe := faultOf(err)
	fe.StreamID = s.id
	c := r.lock()
	gone := c.streams.get(s.id) != s
	c.unlock()
	if gone {
		return nil // it is over already
	}
	return r.resetByRule(fe)
}

// faultOf is a Receiver's error as one of HTTP/2.
func faultOf(err error) frame.Error {
	var fe frame.Error
	if !errors.As(err, &fe) {
		fe = frame.Error{Code: frame.Cancel, Reason: err.Error()}
	}
	return fe
}

func isStreamError(err error) bool {
	var fe frame.Error
	return errors.As(err, &fe) && !fe.IsConn()
}

// late records a frame for a stream that is over. When one side ends a stream, a few
// frames of the other may be on their way, so the streams that were opened since the last
// call pay for them.
func (r *reader) late() error {
	c := r.lock()
	opened := c.streams.nextLocal + c.streams.lastPeer
	c.unlock()
	a := r.in.act
	a.nonsense.earn(int(opened-a.opened) / 2)
	a.opened = opened
	return a.useless()
}
