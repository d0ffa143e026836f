// SPDX-License-Identifier: Apache-2.0

//go:build grpcnotlsrelease

package tlsconn

import (
	"crypto/tls"

	"google.golang.org/grpc/internal/readyreader"
)

// This build leaves tls.Conn's fields alone: Conn.release is never set.

func releasable() bool { return false }

func restable() bool { return false }

// StoodAside returns nil: the build tag has asked for it.
func StoodAside() error { return nil }

func (c *Conn) holdsRecord() bool { return true }

func (c *Conn) feed() {}

func (c *Conn) top() error { return readyreader.ErrWouldBlock }

func (c *Conn) settle() {}

func (c *Conn) stash() {}

func (c *Conn) drop() { c.dropIntake() }

func (c *Conn) rest() {}

func (c *Conn) wrote() {}

// Nothing is adopted.

type buffers struct{}

func buffersOf(*tls.Conn) buffers { return buffers{} }

func holdsRecord(*tls.Conn) bool { return true }

func release(buffers) bool { return false }

type half struct{}

func (half) rest() {}

func halvesOf(*tls.Conn) (in, out half) { return half{}, half{} }
