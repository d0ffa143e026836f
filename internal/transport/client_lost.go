// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/transport/grpcwire"
	"google.golang.org/grpc/internal/transport/h2"
	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/status"
)

// lostStatus returns how RPCs end because the connection is lost. It is one status for all of them, as the
// peer can make it long. The connection's end calls it, on one goroutine.
func (c *Client) lostStatus(cause error) *status.Status {
	if c.lost == nil {
		c.lost = c.statusOf(cause)
	}
	return c.lost
}

// statusError is an error with a status.
type statusError interface {
	error
	GRPCStatus() *status.Status
}

func (c *Client) statusOf(cause error) *status.Status {
	_, below := errors.AsType[*h2.IOError](cause) // an IOError may be a status, too, and is not meant for the RPC
	if own, ok := errors.AsType[statusError](cause); ok && !below {
		return own.GRPCStatus() // given to Close
	}
	return status.New(codes.Unavailable, c.lostText(cause))
}

// lostText returns why the connection was lost, and what the peer said before. Programs look for these
// texts, which are those of the published module.
func (c *Client) lostText(cause error) string {
	text := cause.Error()
	if below, ok := errors.AsType[*h2.IOError](cause); ok && below.Op == "read" {
		text = "error reading from server: " + c.plainly(below.Err).Error()
	} else if rule, ok := errors.AsType[*h2.ConnError](cause); ok && rule.Remote {
		text = "error reading from server: EOF" // what the peer said is added below
	} else if ok && rule.Code == frame.NoError {
		text = rule.Reason // nobody broke a rule: keepalive
	} else if ok {
		text = "error reading from server: " + fmt.Sprintf("connection error: %v: %s", rule.Code, rule.Reason)
	}
	said := c.leave.Load()
	if said == nil {
		return text
	}
	text = fmt.Sprintf("closing transport due to: connection error: desc = %q, received prior goaway: code: %v", text, said.code)
	if said.debug != "" {
		text += fmt.Sprintf(", debug data: %q", said.debug)
	}
	return text
}

// plainly returns err without the addresses that package net adds, on connections of the operating system
// that are not encrypted: the published module reads those without package net.
func (c *Client) plainly(err error) error {
	if errno, ok := errors.AsType[syscall.Errno](err); ok && !c.secure {
		return errno
	}
	return err
}

func (s *ClientStream) abortStatus(err *h2.StreamError) *status.Status {
	switch {
	case err.Unprocessed && err.Reason != "":
		return status.New(codes.Unavailable, "the connection is draining")
	case err.Unprocessed:
		return status.New(codes.Unavailable, err.Error())
	case err.Cause != nil:
		return s.client.lostStatus(err.Cause)
	case !err.Remote:
		// The server broke a rule, or its header list is over our limit. The latter is Internal, too, because
		// another attempt would bring the same.
		return status.New(codes.Internal, err.Error())
	}
	if d, ok := s.ctx.Deadline(); ok && err.Code == frame.Cancel && !time.Now().Before(d) {
		return status.New(codes.DeadlineExceeded, context.DeadlineExceeded.Error())
	}
	return status.New(grpcwire.RSTCode(uint32(err.Code)), err.Error())
}

// WithoutDebugData returns err for a log. The debug data that a peer sends with a GOAWAY goes into the
// errors of RPCs, and not into a log, which outlives them (RFC 9113, section 6.8).
func WithoutDebugData(err error) error {
	if rule, ok := errors.AsType[*h2.ConnError](err); ok && rule.Remote {
		return fmt.Errorf("peer closed the connection with GOAWAY: %v", rule.Code)
	}
	return err
}
