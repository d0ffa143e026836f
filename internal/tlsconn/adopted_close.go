// SPDX-License-Identifier: Apache-2.0

//go:build !grpcnotlsrelease

package tlsconn

// Close is that of what was handed over.
func (a *adopted) Close() error {
	err := a.Conn.Close()
	a.closed.Store(true)
	a.dropInput()
	a.dropOutput()
	return err
}
