// SPDX-License-Identifier: Apache-2.0

// Package codes has the status codes of gRPC, with the numbers of grpc/doc/statuscodes.md.
package codes

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// Code is the outcome of an RPC. The field grpc-status has the number on the wire, so the numbers
// never change.
type Code uint32

const (
	// OK means success. No error has this code.
	OK Code = iota // 0

	// Canceled means that the operation was canceled, usually by its caller.
	Canceled // 1

	// Unknown is the code of errors without a status, such as errors from another address space or
	// a handler's plain Go error.
	Unknown // 2

	// InvalidArgument says that the arguments are wrong in any state of the system; a malformed
	// name is an example. Compare FailedPrecondition.
	InvalidArgument // 3

	// DeadlineExceeded means that the deadline passed before the operation was complete. If the
	// operation changes state, the change may have been made all the same.
	DeadlineExceeded // 4

	// NotFound says that the requested entity does not exist.
	NotFound // 5

	// AlreadyExists says that the entity to create exists already.
	AlreadyExists // 6

	// PermissionDenied says that a known caller may not do this. Use Unauthenticated for a caller
	// that is not known, and ResourceExhausted if a quota ran out.
	PermissionDenied // 7

	// ResourceExhausted says that a quota, memory or space ran out. The library
	// uses it for messages above the size limits.
	ResourceExhausted // 8

	// FailedPrecondition says that the system is not in the state that the operation needs.
	// Repeating the operation is useless until that state has changed.
	FailedPrecondition // 9

	// Aborted says that a concurrent operation conflicted with this one and won. The caller may
	// repeat the whole transaction.
	Aborted // 10

	// OutOfRange says that an iteration or an offset went past the end. Unlike InvalidArgument, the
	// same request may become valid as the system grows.
	OutOfRange // 11

	// Unimplemented says that the method is unknown or turned off in this server.
	Unimplemented // 12

	// Internal says that an invariant of the system is broken. It is for serious errors.
	Internal // 13

	// Unavailable says that the service can't be reached at the moment. Repeating the operation
	// after a pause usually helps. It may have taken effect, so it is not always safe to repeat an
	// operation that is not idempotent.
	Unavailable // 14

	// DataLoss says that data is lost or corrupt beyond repair.
	DataLoss // 15

	// Unauthenticated says that valid credentials are missing.
	Unauthenticated // 16

	codeCount = 17
)

// names has, for each code, the name that Go programs print and the name in JSON service configs.
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

// UnmarshalJSON accepts a code's number (0 to 16), or its name in the spelling of service_config.md
// ("NOT_FOUND"; Canceled is "CANCELLED"). null leaves c unchanged.
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
