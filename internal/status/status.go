// SPDX-License-Identifier: Apache-2.0

// Package status has the type behind the public package of the same name, and functions on it that
// only this module may call.
package status

import (
	"errors"
	"fmt"
	"unsafe"

	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/anypb"

	"google.golang.org/grpc/codes"
)

// Status is a code, a message, and details. It is immutable, and so safe for concurrent use. New,
// Newf and FromProto make one. A nil Status has code OK.
type Status struct {
	code    codes.Code
	none    bool // FromProto made it of a nil message, so Proto returns nil
	message string
	// full has the code and message, too. It is nil unless the status has more than those (details,
	// unknown fields): most statuses never need a protobuf message.
	full *spb.Status
}

// New returns a Status of a code and a message.
func New(c codes.Code, msg string) *Status {
	return &Status{code: c, message: msg}
}

// Newf returns New(c, fmt.Sprintf(format, a...)).
func Newf(c codes.Code, format string, a ...any) *Status {
	return New(c, fmt.Sprintf(format, a...))
}

// FromProto returns a Status that is a copy of p. If p is nil, the code is OK, and Proto returns
// nil.
func FromProto(p *spb.Status) *Status {
	if p == nil {
		return &Status{none: true}
	}
	if !hasMore(p) {
		return New(codes.Code(p.GetCode()), p.GetMessage())
	}
	return fromOwned(proto.CloneOf(p))
}

// Err returns Error(c, msg): nil if c is OK.
func Err(c codes.Code, msg string) error { return New(c, msg).Err() }

// Raw returns s as a protobuf message without copying it, or nil if s has only a code and a
// message. The caller must not change the message.
func Raw(s *Status) *spb.Status {
	if s == nil {
		return nil
	}
	return s.full
}

// Memory returns about how many bytes of memory s takes. It counts the memory of each detail, which
// may have only two bytes on the wire.
func Memory(s *Status) int {
	if s == nil {
		return 0
	}
	n := int(unsafe.Sizeof(*s)) + len(s.message)
	if s.full != nil {
		n += proto.Size(s.full) + len(s.full.Details)*int(unsafe.Sizeof(&anypb.Any{})+unsafe.Sizeof(anypb.Any{}))
	}
	return n
}

// Code returns the status code.
func (s *Status) Code() codes.Code {
	if s == nil {
		return codes.OK
	}
	return s.code
}

// Message returns the message, which is meant for developers.
func (s *Status) Message() string {
	if s == nil {
		return ""
	}
	return s.message
}

// Proto returns s as a protobuf message that the caller owns. It returns nil for a nil s and for
// the Status of FromProto(nil).
func (s *Status) Proto() *spb.Status {
	switch {
	case s == nil, s.none:
		return nil
	case s.full != nil:
		return proto.CloneOf(s.full)
	}
	return &spb.Status{Code: int32(s.code), Message: s.message}
}

// Err returns s as an error, or nil if its code is OK.
func (s *Status) Err() error {
	if s.Code() == codes.OK {
		return nil
	}
	return (*Error)(s)
}

// WithDetails returns a copy of s with details added at the end. It fails if the
// code of s is OK, or if a detail can't be encoded.
func (s *Status) WithDetails(details ...protoadapt.MessageV1) (*Status, error) {
	if s.Code() == codes.OK {
		return nil, errors.New("no error details for status with code OK")
	}
	p := s.Proto()
	for _, d := range details {
		packed, err := anypb.New(protoadapt.MessageV2Of(d))
		if err != nil {
			return nil, err
		}
		p.Details = append(p.Details, packed)
	}
	return fromOwned(p), nil
}

// Details returns the decoded details, each with the type that was passed to WithDetails. If a
// detail can't be decoded, for instance because its type is not linked into the program, its place
// has the error. Details returns an empty slice if s has none, and nil if s is nil.
func (s *Status) Details() []any {
	if s == nil || s.none {
		return nil
	}
	packed := Raw(s).GetDetails()
	details := make([]any, len(packed))
	for i, p := range packed {
		if m, err := p.UnmarshalNew(); err != nil {
			details[i] = err
		} else {
			details[i] = protoadapt.MessageV1Of(m)
		}
	}
	return details
}

// String shows the code and the message.
func (s *Status) String() string {
	return fmt.Sprintf("rpc error: code = %s desc = %s", s.Code(), s.Message())
}

// Error is a Status as an error. It is the same memory with another method set, so making an error
// takes one allocation.
type Error Status

// Error shows the code and the message.
func (e *Error) Error() string { return (*Status)(e).String() }

// GRPCStatus returns the status.
func (e *Error) GRPCStatus() *Status { return (*Status)(e) }

// Is makes errors.Is compare by code, message and details.
func (e *Error) Is(target error) bool {
	other, ok := target.(*Error)
	if !ok {
		return false
	}
	if e == other {
		return true
	}
	if e == nil || other == nil {
		return false
	}
	return e.code == other.code && e.message == other.message && proto.Equal(e.full, other.full)
}

// fromOwned returns a Status that takes over p.
func fromOwned(p *spb.Status) *Status {
	s := New(codes.Code(p.GetCode()), p.GetMessage())
	if hasMore(p) {
		s.full = p
	}
	return s
}

// hasMore reports whether p has more than a code and a message.
func hasMore(p *spb.Status) bool {
	return p != nil && (len(p.Details) > 0 || len(p.ProtoReflect().GetUnknown()) > 0)
}
