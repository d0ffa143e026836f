// SPDX-License-Identifier: Apache-2.0

//go:build grpcnotlsrelease

package tlsconn

import "google.golang.org/grpc/internal/readyreader"

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

func (c *Conn) kept() int { return c.intake.Memory() }

func (c *Conn) drop() { c.dropIntake() }

func (c *Conn) rest() {}

func (c *Conn) wrote() {}
