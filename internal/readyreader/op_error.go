// SPDX-License-Identifier: Apache-2.0

//go:build unix || windows

package readyreader

import (
	"errors"
	"net"
)

// renameOp turns the raw-read of a RawConn's error into the read of a Conn's.
func renameOp(err error, op string) error {
	var oe *net.OpError
	if errors.As(err, &oe) {
		c := *oe
		c.Op = op
		return &c
	}
	return err
}
