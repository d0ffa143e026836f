// SPDX-License-Identifier: Apache-2.0

//go:build grpcnotlsrelease

package keyrest

import "crypto/tls"

// Half is one direction of a tls.Conn, which this build leaves alone.
type Half struct{}

// Rest does nothing.
func (Half) Rest() {}

// Halves returns nothing.
func Halves(*tls.Conn) (in, out Half) { return Half{}, Half{} }
