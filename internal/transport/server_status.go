// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"errors"
	"io"
	"time"

	"google.golang.org/grpc/internal/control"
	"google.golang.org/grpc/internal/sockopt"
	"google.golang.org/grpc/internal/transport/h2"
	"google.golang.org/grpc/internal/transport/h2/frame"
)

// Status implements control.Link.
func (s *Server) Status() control.Status {
	st := s.Stats()
	roundTrip := time.Duration(0)
	if cause := s.conn.Cause(); cause != nil { // how it ended is what happened last
		st.LastError = cause.Error()
	} else {
		roundTrip = sockopt.RoundTrip(s.System())
	}
	return control.Status{
		Streams: st.Streams, Parked: st.Parked, NotParkable: s.WhyNot(), BytesHeld: st.Held,
		SendWindow: st.SendWindow, RecvWindow: st.RecvWindow,
		RoundTrip: roundTrip, LastError: st.LastError, LastErrorAt: st.LastErrorAt,
		Draining: s.conn.Draining(), Silent: s.conn.Silent(),
	}
}

// EndSilentDrain is called after Drain. It does not wait for a client that has said nothing so far: the
// client is told that none of its calls is served, and the connection closes.
func (s *Server) EndSilentDrain() { s.conn.EndSilentDrain() }

// Failure returns the error by which a connection ended. It is nil if the connection ended as connections
// do: a side sent a GOAWAY without an error, or closed the connection between two frames.
func Failure(err error) error {
	if rule, ok := errors.AsType[*h2.ConnError](err); ok {
		if rule.Remote && rule.Code == frame.NoError {
			return nil
		}
		return WithoutDebugData(err)
	}
	if below, ok := errors.AsType[*h2.IOError](err); ok && errors.Is(below.Err, io.EOF) {
		return below.Before
	} else if ok {
		return err
	}
	return nil
}
