// SPDX-License-Identifier: Apache-2.0

//go:build !race

package readyreader

// Write implements Layer. A RawConn can't wait for room here.
func (s *rawSocket) Write(p []byte) (int, error) { return s.conn.Write(p) }

func (op *rawOp) comesBack(uintptr) bool { return false }
