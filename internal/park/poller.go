// SPDX-License-Identifier: Apache-2.0

package park

// Stats counts handles.
type Stats struct {
	// Parked connections wait without a goroutine.
	Parked int64
	// Registered ones have parked at some time, and are neither closed nor were refused since.
	Registered int64
}

// ReadStats returns the process's counts at about this moment.
func ReadStats() Stats { return process.stats() }

// Supported reports whether this system can wait for sockets without a
// goroutine each.
func Supported() bool { return supported }

// process is the set of all connections. Tests have others.
var process = set{open: newBackend, pace: walkPace}

func (s *set) stats() Stats {
	st := Stats{Parked: s.parked.Sum()}
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.p.Load(); p != nil {
		st.Registered = int64(p.table.used)
	}
	return st
}

// register gives h a slot. h.mu is held.
func (s *set) register(h *Handle) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	p := s.p.Load()
	if p == nil {
		be, err := s.open()
		if err != nil {
			return err
		}
		p = &poller{set: s, backend: be}
		p.multi, _ = be.(multiWaiter)
		s.p.Store(p)
		p.start()
	}
	h.slot, h.gen = p.table.add(h)
	return nil
}

// unregister takes h's slot back, and stops the poller if it was the last.
// h.mu is held.
func (s *set) unregister(h *Handle) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.p.Load()
	p.table.remove(h.slot, h.gen)
	h.slot = 0
	if p.table.used == 0 {
		p.stopWalking()
		p.backend.close()
		s.p.Store(nil)
		s.err = nil
	}
}

// backend returns the backend for a registered handle. The backend neither changes nor closes as long as
// the handle stays registered. The call fails once the poller has failed. parks says that the handle is
// parked, or was a moment ago.
func (s *set) backend(parks bool) (backend, error) {
	p := s.p.Load()
	if p.failed.Load() {
		s.mu.Lock()
		defer s.mu.Unlock()
		return p.backend, s.err
	}
	if parks {
		p.keepWalking()
	}
	return p.backend, nil
}
