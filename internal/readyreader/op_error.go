// SPDX-License-Identifier: Apache-2.0

//go:build unix || windows

package readyreader

import (
	"errors"
	"net"
	"strings"
)

// renameOp turns the raw-read of a RawConn's error into the read of a Conn's.
func renameOp(err error, op string) error {
	if oe, ok := err.(*net.OpError); ok && strings.HasPrefix(oe.Op, "raw-") {
		oe.Op = op // package net has made it for this call: each time that a connection is parked
		return oe
	}
	if oe, ok := errors.AsType[*net.OpError](err); ok {
		c := *oe
		c.Op = op
		return &c
	}
	return err
}
