// SPDX-License-Identifier: Apache-2.0

package h2

// Unsent is how many bytes of DATA wait for the peer's windows, and whether the stream is open.
func (s *Stream) Unsent() (bytes int, open bool) {
	c := s.conn.lock()
	defer c.unlock()
	if s.state == stateIdle || s.state == stateClosed || c.life.dead() {
		return 0, false
	}
	if s.pending == nil {
		return 0, true
	}
	return s.pending.size, true
}
