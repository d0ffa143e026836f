// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package transport

import "net"

// lookAhead returns how many bytes may be read from nc: one, as it is not known here what has arrived.
func lookAhead(net.Conn, []byte) (n int, err error) { return 1, nil }
