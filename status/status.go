// SPDX-License-Identifier: Apache-2.0

// Package status makes and reads the errors of RPCs. Each has a code, a message, and details.
//
// If a handler returns such an error, the server sends it as it is. An error that is or wraps
// context.DeadlineExceeded or context.Canceled is sent with the code of that name, and any other as
// codes.Unknown, with the error's text. All errors of the library's RPCs have a status.
package status

import (
	"context"
	"errors"
	"fmt"

	spb "google.golang.org/genproto/googleapis/rpc/status"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/status"
)

// Status is a code, a message, and details. It is immutable, and so safe for concurrent use. New,
// Newf and FromProto make one. A nil Status has code OK.
type Status = status.Status

// New returns a Status of a code and a message.
func New(c codes.Code, msg string) *Status { return status.New(c, msg) }

// Newf returns New(c, fmt.Sprintf(format, a...)).
func Newf(c codes.Code, format string, a ...any) *Status { return status.Newf(c, format, a...) }

// Error returns an error with a code and a message, or nil if c is OK.
func Error(c codes.Code, msg string) error { return status.Err(c, msg) }

// Errorf returns Error(c, fmt.Sprintf(format, a...)).
func Errorf(c codes.Code, format string, a ...any) error {
	return Error(c, fmt.Sprintf(format, a...))
}

// ErrorProto returns an error with a copy of s, or nil if the code of s is OK.
func ErrorProto(s *spb.Status) error { return FromProto(s).Err() }

// FromProto returns a Status that is a copy of s.
func FromProto(s *spb.Status) *Status { return status.FromProto(s) }

// hasStatus is implemented by errors, of any package, that have a status.
type hasStatus interface {
	GRPCStatus() *Status
}

// FromError returns the status of err.
//
//   - If err is nil, s is nil, which is a Status with code OK, and ok is true.
//   - If err has a method GRPCStatus() *Status that returns a non-nil status, s is
//     that status, and ok is true.
//   - If err wraps such an error (see errors.As), s has the code and the details of
//     that error's status and the whole text of err, and ok is true.
//   - Otherwise s has codes.Unknown and the text of err, and ok is false.
func FromError(err error) (s *Status, ok bool) {
	if err == nil {
		return nil, true
	}
	if direct, ok := err.(hasStatus); ok {
		if s := direct.GRPCStatus(); s != nil {
			return s, true
		}
		return New(codes.Unknown, err.Error()), false
	}
	if s := wrapped(err); s != nil {
		return withMessage(s, err.Error()), true
	}
	return New(codes.Unknown, err.Error()), false
}

// Convert returns the status of err as FromError does.
func Convert(err error) *Status {
	s, _ := FromError(err)
	return s
}

// Code returns the code of err as FromError does: OK for nil, Unknown for an error
// without a status.
func Code(err error) codes.Code {
	if err == nil {
		return codes.OK
	}
	if s := wrapped(err); s != nil {
		return s.Code()
	}
	return codes.Unknown
}

// FromContextError returns the status for an error of a context. The code is codes.DeadlineExceeded
// or codes.Canceled if err is, or wraps, the context package's error of that name. It is OK (a nil
// Status) if err is nil, and Unknown for any other error.
func FromContextError(err error) *Status {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		return New(codes.DeadlineExceeded, err.Error())
	case errors.Is(err, context.Canceled):
		return New(codes.Canceled, err.Error())
	}
	return New(codes.Unknown, err.Error())
}

// wrapped returns the status of the first error in err's tree that is a hasStatus, or nil if there
// is none.
func wrapped(err error) *Status {
	var h hasStatus
	if !errors.As(err, &h) {
		return nil
	}
	return h.GRPCStatus()
}

// withMessage returns s with another message.
func withMessage(s *Status, msg string) *Status {
	if status.Raw(s) == nil {
		return New(s.Code(), msg)
	}
	p := s.Proto()
	p.Message = msg
	return FromProto(p)
}
