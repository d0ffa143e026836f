// SPDX-License-Identifier: Apache-2.0

//go:build !linux || 386 || s390x

package readyreader

import "net"

// Here the system does not count what a socket receives, and who reads a wrapper waits in its Read.
type known struct{ Writer }

func newKnown(net.Conn, Writer) *known { return nil }
