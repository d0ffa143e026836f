// SPDX-License-Identifier: Apache-2.0

package readyreader

// Read implements Layer. It does what the connection's own Read does, but Go's scheduler is not told of
// most system calls: see sysRead.
func (s *rawSocket) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	op := takeOp()
	op.p = p
	waitErr := s.rc.Read(op.onFill)
	n, err := op.n, op.err
	op.release()
	return s.readResult(n, err, waitErr)
}
