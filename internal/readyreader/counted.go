// SPDX-License-Identifier: Apache-2.0

//go:build unix || (windows && !race)

package readyreader

import "google.golang.org/grpc/mem"

// countedSocket is a rawSocket that tells wrappers how many bytes it reads and writes.
type countedSocket struct {
	*rawSocket
	in, out counters
}

// counted returns raw, a rawSocket, with counters added; or raw itself if there are no counters.
func counted(raw Layer, in, out counters) Layer {
	s, ok := raw.(*rawSocket)
	if !ok || len(in) == 0 && len(out) == 0 {
		return raw
	}
	return &countedSocket{s, in, out}
}

// Read implements Layer.
func (s *countedSocket) Read(p []byte) (int, error) {
	n, err := s.rawSocket.Read(p)
	s.in.add(n)
	return n, err
}

// ReadOnReady implements Layer.
func (s *countedSocket) ReadOnReady(bufSize int, pool mem.BufferPool) (*[]byte, int, error) {
	buf, n, err := s.rawSocket.ReadOnReady(bufSize, pool)
	s.addInto(buf, n, pool)
	return buf, n, err
}

// TryRead implements Layer. rawSocket.TryRead calls rawSocket.TryReadInto, so the bytes are counted once.
func (s *countedSocket) TryRead(bufSize int, pool mem.BufferPool) (*[]byte, int, error) {
	buf, n, err := s.rawSocket.TryRead(bufSize, pool)
	s.addInto(buf, n, pool)
	return buf, n, err
}

// addInto counts the n bytes that were read into buf. The buffer goes back if the program's code panics or ends the
// goroutine.
func (s *countedSocket) addInto(buf *[]byte, n int, pool mem.BufferPool) {
	told := false
	defer func() {
		if !told && buf != nil {
			pool.Put(buf)
		}
	}()
	s.in.add(n)
	told = true
}

// TryReadInto implements Layer.
func (s *countedSocket) TryReadInto(p []byte) (int, error) {
	n, err := s.rawSocket.TryReadInto(p)
	s.in.add(n)
	return n, err
}

// TryWrite implements Layer.
func (s *countedSocket) TryWrite(p []byte) (int, error) {
	n, err := s.rawSocket.TryWrite(p)
	s.out.add(n)
	return n, err
}

// Write implements Layer.
func (s *countedSocket) Write(p []byte) (int, error) {
	n, err := s.rawSocket.Write(p)
	s.out.add(n)
	return n, err
}
