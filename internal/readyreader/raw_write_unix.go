// SPDX-License-Identifier: Apache-2.0

//go:build unix

package readyreader

// Write implements Writer.
func (s *rawSocket) Write(p []byte) (int, error) {
	op := takeOp()
	op.p = p
	waitErr := s.rc.Write(op.onPush)
	n, err := op.n, op.err
	op.release()
	return s.writeResult(n, err, waitErr)
}
