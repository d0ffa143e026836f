// SPDX-License-Identifier: Apache-2.0

package wrappers

import (
	"bytes"
	"net"
	"testing"
)

// A wrapper that counts has counted what a meter would have, whoever reads and writes for it: what
// one end has sent the other has received, the handshake included.
func TestCountsAreExact(t *testing.T) {
	for _, wrap := range []struct {
		name  string
		wraps func(net.Conn) (net.Conn, *meter)
	}{
		{"called", func(c net.Conn) (net.Conn, *meter) { m := &meter{Conn: c}; return m, m }},
		{"told", func(c net.Conn) (net.Conn, *meter) {
			m := &tellsCounts{meter{Conn: c}}
			return m, &m.meter
		}},
		{"told of reads", func(c net.Conn) (net.Conn, *meter) {
			m := &countsReads{meter{Conn: c}}
			return m, &m.meter
		}},
	} {
		for _, s := range []setting{{network: "tcp"}, {network: "unix"}, {network: "tcp", secure: true}} {
			server, client := make(chan *meter, 1), make(chan *meter, 1)
			s.kind = Kind{
				Name:   wrap.name,
				Server: func(c net.Conn) net.Conn { c, m := wrap.wraps(c); server <- m; return c },
				Client: func(c net.Conn) net.Conn { c, m := wrap.wraps(c); client <- m; return c },
			}
			t.Run(s.String(), func(t *testing.T) {
				p := newPlace(t, s, false)
				for _, n := range []int{0, 1, 100 << 10, 5 << 20} {
					p.mustEcho(bytes.Repeat([]byte("x"), n))
				}
				a, b := <-server, <-client
				p.until("both ends to have counted the same", func() bool {
					return a.in.Load() == b.out.Load() && a.out.Load() == b.in.Load() && a.in.Load() > 5<<20
				})
			})
		}
	}
}
