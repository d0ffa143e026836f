// SPDX-License-Identifier: Apache-2.0

package client

import (
	"errors"

	"google.golang.org/grpc/codes"
)

var (
	errNone    = errors.New("the control plane has no such resource")
	errDeleted = errors.New("the control plane has it no more")
	errLate    = errors.New("the control plane is slow")
)

// IsDoesNotExist reports whether err, an error that a watcher got, says that the control plane
// does not have the resource.
func IsDoesNotExist(err error) bool {
	if e := (*ServerError)(nil); errors.As(err, &e) {
		return e.Code == codes.NotFound
	}
	return errors.Is(err, errNone) || errors.Is(err, errDeleted)
}

// ServerError is an error that a control plane sends instead of a resource (A88). Its code is
// not meant as the status of an RPC.
type ServerError struct {
	Code    codes.Code
	Message string
}

// Error implements error.
func (e *ServerError) Error() string {
	return "the control plane says: " + e.Code.String() + ": " + e.Message
}

// ofData reports whether the error is about the resource rather than about the control plane.
func (e *ServerError) ofData() bool {
	return e.Code == codes.NotFound || e.Code == codes.PermissionDenied
}
