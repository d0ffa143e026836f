// SPDX-License-Identifier: Apache-2.0

//go:build !unix && !windows

package readyreader

import (
	"net"
	"syscall"
)

// Here a RawConn can't wait, and every connection is read through Read.

func newRaw(net.Conn) Layer { return nil }

// AwaitInput does not wait here: a read does.
func AwaitInput(syscall.RawConn) error { return nil }

// HasInput returns true: only a read can tell.
func HasInput(syscall.RawConn) bool { return true }
