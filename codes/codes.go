// SPDX-License-Identifier: Apache-2.0

// Package codes holds the status codes of gRPC, as grpc/doc/statuscodes.md
// numbers them.
package codes

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// Code is the outcome of an RPC. The numbers go over the wire in grpc-status and
// never change.
type Code uint32

const (
	// OK means success. No error has this code.
	OK Code = iota // 0

	// Canceled means that the operation was given up, usually by its caller.
	Canceled // 1

	// Unknown stands for errors that came without a status: those of another
	// address space, or a handler's plain Go error.
	Unknown // 2

	// InvalidArgument says that the arguments are wrong whatever state the
	// system is in (a malformed name, say). Compare FailedPrecondition.
	InvalidArgument // 3

	// DeadlineExceeded means that time ran out first. Where the operation
	// changes state, the change may have been made all the same.
	DeadlineExceeded // 4

	// NotFound says that what was asked for does not exist.
	NotFound // 5

	// AlreadyExists says that what was to be created is there already.
	AlreadyExists // 6

	// PermissionDenied says that a known caller may not do this. Use
	// Unauthenticated for a caller that is not known, ResourceExhausted where a
	// quota ran out.
	PermissionDenied // 7

	// ResourceExhausted says that a quota, memory or space ran out. The library
	// uses it for messages above the size limits.
	ResourceExhausted // 8

	// FailedPrecondition says that the system is not in the state the operation
	// needs; repeating it is useless until somebody changes that state.
	FailedPrecondition // 9

	// Aborted says that a concurrent operation won; the caller may repeat the
	// whole transaction.
	Aborted // 10

	// OutOfRange says that an iteration or an offset went past the end. Unlike
	// InvalidArgument it may become valid as the system grows.
	OutOfRange // 11

	// Unimplemented says that the method is unknown or switched off here.
	Unimplemented // 12

	// Internal says that an invariant broke: something is very wrong.
	Internal // 13

	// Unavailable says that the service can't be reached at the moment. Repeating
	// with a pause usually helps; what isn't idempotent may have been done.
	Unavailable // 14

	// DataLoss says that data is lost or corrupt beyond repair.
	DataLoss // 15

	// Unauthenticated says that valid credentials are missing.
	Unauthenticated // 16

	codeCount = 17
)

// names are indexed by code: as Go programs print them, and as JSON service
// configs spell them.
var names = [codeCount]struct{ text, json string }{
	OK:                 {"OK", "OK"},
	Canceled:           {"Canceled", "CANCELLED"},
	Unknown:            {"Unknown", "UNKNOWN"},
	InvalidArgument:    {"InvalidArgument", "INVALID_ARGUMENT"},
	DeadlineExceeded:   {"DeadlineExceeded", "DEADLINE_EXCEEDED"},
	NotFound:           {"NotFound", "NOT_FOUND"},
	AlreadyExists:      {"AlreadyExists", "ALREADY_EXISTS"},
	PermissionDenied:   {"PermissionDenied", "PERMISSION_DENIED"},
	ResourceExhausted:  {"ResourceExhausted", "RESOURCE_EXHAUSTED"},
	FailedPrecondition: {"FailedPrecondition", "FAILED_PRECONDITION"},
	Aborted:            {"Aborted", "ABORTED"},
	OutOfRange:         {"OutOfRange", "OUT_OF_RANGE"},
	Unimplemented:      {"Unimplemented", "UNIMPLEMENTED"},
	Internal:           {"Internal", "INTERNAL"},
	Unavailable:        {"Unavailable", "UNAVAILABLE"},
	DataLoss:           {"DataLoss", "DATA_LOSS"},
	Unauthenticated:    {"Unauthenticated", "UNAUTHENTICATED"},
}

// String returns the code's Go name, or "Code(n)" for a number that gRPC does not
// define.
func (c Code) String() string {
	if c < codeCount {
		return names[c].text
	}
	return "Code(" + strconv.FormatUint(uint64(c), 10) + ")"
}

// UnmarshalJSON accepts a code's number (0 to 16), or its name as
// service_config.md writes it ("NOT_FOUND"; Canceled is "CANCELLED" there). null
// leaves c as it is.
func (c *Code) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	if c == nil {
		return errors.New("nil receiver passed to UnmarshalJSON")
	}
	if n, err := strconv.ParseUint(string(b), 10, 32); err == nil {
		if n >= codeCount {
			return fmt.Errorf("invalid code: %d", n)
		}
		*c = Code(n)
		return nil
	}
	var name string
	if err := json.Unmarshal(b, &name); err != nil {
		return fmt.Errorf("invalid code: %q", b)
	}
	for i := range names {
		if names[i].json == name {
			*c = Code(i)
			return nil
		}
	}
	return fmt.Errorf("invalid code: %q", b)
}
