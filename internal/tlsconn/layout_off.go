// SPDX-License-Identifier: Apache-2.0

//go:build grpcnotlsrelease

package tlsconn

import (
	"crypto/tls"
	"net"

	"google.golang.org/grpc/internal/readyreader"
)

// This build leaves tls.Conn's fields alone: Conn.release is never set.

func releasable() bool { return false }

func restable() bool { return false }

// StoodAside returns nil: the build tag has asked for it.
func StoodAside() error { return nil }

func holdsRecord(*tls.Conn) bool { return true }

func feed(*tls.Conn, *readyreader.Stock) {}

func top(*tls.Conn, *readyreader.Stock, readyreader.InPlaceReader, int) error {
	return readyreader.ErrWouldBlock
}

func settle(*tls.Conn, *readyreader.Stock) {}

func stash(*tls.Conn, *readyreader.Stock) {}

func forget(*tls.Conn) {}

func (c *Conn) rest() {}

func (c *Conn) wrote() {}

// Adopt returns conn as it is.
func Adopt(conn net.Conn) net.Conn { return conn }
