// SPDX-License-Identifier: Apache-2.0

package h2

// Unsent is how many bytes of DATA wait for the peer's windows, and whether the stream is open.
func (s *Stream) Unsent() (bytes int, open bool) {
	c := s.conn.lock()
	defer c.unlock()
	if !c.core.IsOpen(&s.core) {
		return 0, false
	}
	return s.core.Unsent(), true
}
