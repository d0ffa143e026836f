// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"google.golang.org/grpc/internal/park"
	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/metadata"
)

// Clients change the size of their table, to nothing and back, between calls on connections that
// park, whose tables are frozen, and thawed where others were before.
func TestTableSizesOfParkedConnections(t *testing.T) {
	s := startServer(t, "unix", ServerConfig{Policy: oftenPings}, func(s *ServerStream) {
		token := s.IncomingHeader()["token"][0]
		_ = s.SendHeader(metadata.Pairs("you", token, "all", "same"))
		_ = s.Finish(nil)
	})
	const conns, rounds = 6, 30
	type line struct {
		*attacker
		token string
		refs  []byte
		id    uint32
		size  uint32 // that was sent and is not acknowledged
		sent  bool
	}
	var all [conns]*line
	for i := range all {
		token := fmt.Sprint("token", i/2)
		insert, refs := tableBlock(requestWith("token", token)...)
		l := &line{attacker: parkable(t, s), token: token, refs: refs, id: 1}
		l.headers(1, insert, true)
		all[i] = l
	}
	finish := func(l *line) {
		for {
			h, b, ok := l.read()
			switch {
			case !ok:
				t.Fatal("the connection ended")
			case h.Type == frame.Settings && h.Flags.Has(frame.FlagAck) && l.sent:
				l.dec.SetAllowedMaxTableSize(l.size)
				l.sent = false
			case h.Type == frame.Headers:
				got := l.decode(b)
				if you, first := got["you"]; first && you != l.token {
					t.Fatalf("%q, want %q", you, l.token)
				}
				if h.Flags.Has(frame.FlagEndStream) {
					return
				}
			}
		}
	}
	for _, l := range all {
		finish(l)
	}
	rnd := rand.New(rand.NewPCG(5, 6))
	for range rounds {
		for _, l := range all {
			if rnd.IntN(3) == 0 && !l.sent {
				l.size, l.sent = []uint32{0, 60, 100, 4096, 1 << 16}[rnd.IntN(5)], true
				l.send(frame.AppendSettings(nil, frame.Setting{ID: frame.HeaderTableSize, Value: l.size}))
			}
		}
		if rnd.IntN(2) == 0 {
			waitFor(t, "all to park", func() bool { return park.ReadStats().Parked == conns })
		}
		for _, i := range rnd.Perm(conns)[:1+rnd.IntN(conns)] {
			l := all[i]
			l.id += 2
			l.headers(l.id, l.refs, true)
			finish(l)
		}
	}
}
