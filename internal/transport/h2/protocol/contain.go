// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"fmt"
	"runtime/debug"

	"google.golang.org/grpc/internal/transport/h2/frame"
)

// PanicLog is told of panics that were contained. Any goroutine may call it.
type PanicLog interface {
	Panicked(value any, stack []byte)
}

// Contain turns a panic into err when it is deferred: an error with code INTERNAL_ERROR. It tells log of
// it. If log is nil the panic goes on.
//
// It is only for code that computes something from a peer's bytes, holds no lock, and changes nothing
// that outlives the connection or the stream that err ends: see "Panics" in the documentation of
// package h2.
func Contain(err *error, log PanicLog) { Contained(recover(), err, log) }

// Contained is Contain for a caller that has called recover itself, with result v. A nil v means that
// there was no panic.
func Contained(v any, err *error, log PanicLog) {
	if v == nil {
		return
	}
	if log == nil {
		panic(v)
	}
	log.Panicked(v, debug.Stack())
	*err = frame.Error{Code: frame.InternalError, Reason: fmt.Sprintf("a fault of this end: %v", v)}
}
