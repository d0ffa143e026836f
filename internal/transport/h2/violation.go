// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"errors"

	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/internal/transport/h2/protocol"
)

// violation is the one place that turns an error of the read side into frames: a stream error resets
// the stream, and any other error ends the connection. It returns the error that ends the read loop, or
// nil to continue.
func (r *reader) violation(err error) error {
	var fe frame.Error
	if !errors.As(err, &fe) {
		return err // a ConnError, or an error of the socket
	}
	if fe.IsConn() {
		return &protocol.ConnError{Code: fe.Code, Reason: fe.Reason}
	}
	c := r.lock()
	s, why, err := c.core.ResetByRule(&r.in.act.Intake, fe)
	c.unlock()
	return abort(s, why, err)
}

// streamFault resets s. fault is an objection of its Receiver, or the rule of HTTP/2 that the peer
// broke.
func (r *reader) streamFault(s *protocol.Stream, fault error) error {
	c := r.lock()
	s, why, err := c.core.Fault(&r.in.act.Intake, s, fault)
	c.unlock()
	return abort(s, why, err)
}

// abort tells the Receiver of s, if there is one, why s is over, and returns err.
func abort(s *protocol.Stream, why *protocol.StreamError, err error) error {
	if s != nil {
		s.Receiver().OnAbort(why)
	}
	return err
}
