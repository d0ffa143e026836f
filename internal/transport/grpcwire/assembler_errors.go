// SPDX-License-Identifier: Apache-2.0

package grpcwire

import (
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A SizeError refuses a message that declares more than the limit. Its status is
// ResourceExhausted.
type SizeError struct {
	Size, Limit uint32
}

func (e *SizeError) Error() string {
	return fmt.Sprintf("grpc: received message larger than max (%d vs. %d)", e.Size, e.Limit)
}

// GRPCStatus makes package status see the code.
func (e *SizeError) GRPCStatus() *status.Status {
	return status.New(codes.ResourceExhausted, e.Error())
}

// A FlagError refuses a message whose Compressed-Flag is neither 0 nor 1. Its status is
// Internal.
type FlagError struct {
	Flag byte
}

func (e *FlagError) Error() string {
	return fmt.Sprintf("grpc: received unexpected payload format %d", e.Flag)
}

// GRPCStatus makes package status see the code.
func (e *FlagError) GRPCStatus() *status.Status {
	return status.New(codes.Internal, e.Error())
}

// fault is what is wrong with the body of a stream. The error itself would take more room
// on every stream.
type fault uint8

const (
	noFault fault = iota
	badFlag
	tooLong
	overfilled
)

var errOverfilled = errors.New("grpcwire: Filled with more than Space returned")

// errUnexpectedEnd says that a stream ended in the middle of a message. Its status is
// Internal, and it is an [io.ErrUnexpectedEOF].
var errUnexpectedEnd error = unexpectedEnd{}

type unexpectedEnd struct{}

func (unexpectedEnd) Error() string {
	return io.ErrUnexpectedEOF.Error()
}

func (unexpectedEnd) Unwrap() error { return io.ErrUnexpectedEOF }

func (e unexpectedEnd) GRPCStatus() *status.Status {
	return status.New(codes.Internal, e.Error())
}
