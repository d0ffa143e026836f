// SPDX-License-Identifier: Apache-2.0

//go:build unix || windows

package readyreader

import (
	"errors"
	"net"
	"strings"
)

// renameOp replaces the operation that a RawConn's error names, such as raw-read, by op.
func renameOp(err error, op string) error {
	if oe, ok := err.(*net.OpError); ok && strings.HasPrefix(oe.Op, "raw-") {
		oe.Op = op // package net made it for this call alone; a copy would allocate each time a connection parks
		return oe
	}
	if oe, ok := errors.AsType[*net.OpError](err); ok {
		c := *oe
		c.Op = op
		return &c
	}
	return err
}
