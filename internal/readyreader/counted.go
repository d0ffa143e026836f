// SPDX-License-Identifier: Apache-2.0

//go:build unix || (windows && !race)

package readyreader

import "google.golang.org/grpc/mem"

// countedSocket is a rawSocket whose reads and writes wrappers count.
type countedSocket struct {
	*rawSocket
	in, out counters
}

// counted is w, a rawSocket, with what there is to count; or w itself if that is nothing.
func counted(w Writer, in, out counters) Writer {
	raw, ok := w.(*rawSocket)
	if !ok || len(in) == 0 && len(out) == 0 {
		return w
	}
	return &countedSocket{raw, in, out}
}

func isRawSocket(w Writer) bool {
	switch w.(type) {
	case *rawSocket, *countedSocket:
		return true
	}
	return false
}

// ReadOnReady implements Reader.
func (s *countedSocket) ReadOnReady(bufSize int, pool mem.BufferPool) (*[]byte, int, error) {
	buf, n, err := s.rawSocket.ReadOnReady(bufSize, pool)
	s.in.add(n)
	return buf, n, err
}

// TryRead implements TryReader. TryReadInto does what it does.
func (s *countedSocket) TryRead(bufSize int, pool mem.BufferPool) (*[]byte, int, error) {
	buf, n, err := s.rawSocket.TryRead(bufSize, pool)
	s.in.add(n)
	return buf, n, err
}

// TryReadInto implements InPlaceReader.
func (s *countedSocket) TryReadInto(p []byte) (int, error) {
	n, err := s.rawSocket.TryReadInto(p)
	s.in.add(n)
	return n, err
}

// TryWrite implements Writer.
func (s *countedSocket) TryWrite(p []byte) (int, error) {
	n, err := s.rawSocket.TryWrite(p)
	s.out.add(n)
	return n, err
}

// Write implements Writer.
func (s *countedSocket) Write(p []byte) (int, error) {
	n, err := s.rawSocket.Write(p)
	s.out.add(n)
	return n, err
}
