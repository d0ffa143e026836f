// SPDX-License-Identifier: Apache-2.0

//go:build grpcnotlsrelease

package tlsbuf

import (
	"bytes"
	"crypto/tls"
	"net"
)

// This build leaves tls.Conn's fields alone.

// Buffers is not used in this build.
type Buffers struct {
	Raw   *bytes.Buffer
	Input *bytes.Reader
	Hand  *bytes.Buffer
}

// Found reports false.
func Found() bool { return false }

// FoundConn reports false.
func FoundConn() bool { return false }

// Of must not be called.
func Of(*tls.Conn) Buffers { panic("tlsbuf: built without") }

// SetConn must not be called.
func SetConn(*tls.Conn, net.Conn) { panic("tlsbuf: built without") }
