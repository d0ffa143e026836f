// SPDX-License-Identifier: Apache-2.0

package readyreader

// Read implements io.Reader. It does what the connection's own does, but the scheduler need not be told of a
// call that moves much: see sysRead.
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

// Read implements io.Reader.
func (s *countedSocket) Read(p []byte) (int, error) {
	n, err := s.rawSocket.Read(p)
	s.in.add(n)
	return n, err
}
