// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Code returns the code of err.
//
// Deprecated: use status.Code.
func Code(err error) codes.Code { return status.Code(err) }

// ErrorDesc returns the message of err.
//
// Deprecated: use status.Convert and its Message.
func ErrorDesc(err error) string { return status.Convert(err).Message() }

// Errorf returns an error with a code and a message; nil for codes.OK.
//
// Deprecated: use status.Errorf.
func Errorf(c codes.Code, format string, a ...any) error { return status.Errorf(c, format, a...) }

// statusOf is the status that is sent for an error of the application.
func statusOf(err error) *status.Status {
	if st, ok := status.FromError(err); ok {
		return st
	}
	return status.FromContextError(err)
}

// statusError is err, which is not nil, as an error that has a status.
func statusError(err error) error {
	if _, ok := status.FromError(err); ok {
		return err
	}
	return status.FromContextError(err).Err()
}
