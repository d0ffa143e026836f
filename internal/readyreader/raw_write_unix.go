// SPDX-License-Identifier: Apache-2.0

//go:build unix

package readyreader

// Write implements Layer.
func (s *rawSocket) Write(p []byte) (int, error) {
	var r refill
	for done := 0; ; {
		op := takeOp()
		op.p, op.returns = p[done:], r.wants()
		waitErr := s.rc.Write(op.onPush)
		n, err, trip := op.n, op.err, op.trip
		op.release()
		if done += n; trip == 0 || waitErr != nil {
			return s.writeResult(done, err, waitErr)
		}
		r.pause(n, trip)
	}
}

// comesBack reports whether a write to a full socket returns instead of waiting, as its path is far: see
// refill.
func (op *rawOp) comesBack(fd uintptr) bool {
	if op.returns || op.n >= leastRefill {
		op.trip = farTripFor(fd)
	}
	return op.trip > 0
}
