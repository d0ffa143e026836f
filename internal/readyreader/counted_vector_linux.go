// SPDX-License-Identifier: Apache-2.0

package readyreader

// TryWriteVector implements Layer.
func (s *countedSocket) TryWriteVector(pieces [][]byte) (int, error) {
	n, err := s.rawSocket.TryWriteVector(pieces)
	s.out.add(n)
	return n, err
}

// WriteVector implements Layer.
func (s *countedSocket) WriteVector(pieces [][]byte) (int, error) {
	n, err := s.rawSocket.WriteVector(pieces)
	s.out.add(n)
	return n, err
}
