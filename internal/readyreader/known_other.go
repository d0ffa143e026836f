// SPDX-License-Identifier: Apache-2.0

//go:build !linux || 386 || s390x

package readyreader

import "net"

// newKnown returns nil: here the system does not count what a socket receives, and the reader of a wrapper
// waits in the wrapper's Read.
func newKnown(net.Conn, Layer) Layer { return nil }
