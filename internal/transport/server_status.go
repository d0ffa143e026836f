// SPDX-License-Identifier: Apache-2.0

package transport

import "google.golang.org/grpc/internal/control"

// Status implements control.Link.
func (s *Server) Status() control.Status {
	st := s.Stats()
	return control.Status{
		Streams: st.Streams, Parked: st.Parked, NotParkable: s.WhyNot(), BytesHeld: st.Held,
		SendWindow: st.SendWindow, RecvWindow: st.RecvWindow,
		Draining: s.conn.Draining(), Silent: s.conn.Silent(),
	}
}

// EndSilentDrain follows Drain. A client that has said nothing so far is not waited for: it hears
// which of its calls are served, which is none, and the connection closes.
func (s *Server) EndSilentDrain() { s.conn.EndSilentDrain() }
