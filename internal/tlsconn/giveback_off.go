// SPDX-License-Identifier: Apache-2.0

//go:build grpcnotlsrelease

package tlsconn

import (
	"crypto/tls"
	"errors"
)

// This build leaves tls.Conn's fields alone, and nothing can be given back.

// CanGiveBack reports whether GiveBack and Surrender may be called.
func CanGiveBack() bool { return false }

// GiveBack does nothing.
func GiveBack(*tls.Conn, []byte) {}

// GiveBack does nothing.
func (c *Conn) GiveBack([]byte) {}

// Surrender fails.
func (c *Conn) Surrender([]byte) (*tls.Conn, error) { return nil, errors.ErrUnsupported }
