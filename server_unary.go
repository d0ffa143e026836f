// SPDX-License-Identifier: Apache-2.0

package grpc

import "context"

// serveUnary serves a call of one request and one reply.
func (s *Server) serveUnary(ctx context.Context, st servedCall, m *method) error {
	codec := s.codecOf(st)
	decode := func(msg any) error { return s.receiveOne(st, codec, msg) }
	reply, err := m.unary.Handler(m.impl, ctx, decode, s.opts.unary)
	if err != nil {
		return end(st, err)
	}
	w := s.writer(st, codec)
	if !st.watch.handlesMessages() { // else the program hears when it may use the message again
		w.lend = lendForever
	}
	out, err := w.write(reply)
	if err != nil {
		return end(st, err)
	}
	sizes := out.sizes()
	if st.watch.keepsPlain() {
		// Message and status are sent one after the other, so that both are logged before the
		// client can have them.
		if err := st.Send(out.payload); err != nil {
			return end(st, err) // the response headers may be what cannot be sent
		}
		st.watch.sent(reply, sizes)
		return end(st, nil)
	}
	if !st.watch.handlesMessages() {
		// Many calls may wait here for their turn to write, and a reply takes several times what it
		// is encoded to.
		reply = nil
	}
	if err := st.Reply(out.payload); err != nil {
		return err
	}
	st.watch.replied(reply, sizes)
	return nil
}
