// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"net"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/internal/transport/h2/protocol"
	"google.golang.org/grpc/mem"
)

// FuzzConn feeds a connection of either side whatever bytes, in pieces of
// whatever length. Nothing may panic, hang or stay behind. What longer runs found that
// reaches further than the seeds is in testdata, and part of every run.
func FuzzConn(f *testing.F) {
	p := &testPeer{t: f}
	p.enc = newPeerEncoder(p)
	start := join([]byte(http2.ClientPreface), settings(3, 10, 4, 100), raw(fSettings, 1, 0, nil))
	call := join(p.request(1, false), data(1, "\x00\x00\x00\x00\x02hi", false), data(1, "", true))
	reply := join(settings(), raw(fSettings, 1, 0, nil), p.headers(1, false, response...),
		data(1, "\x00\x00\x00\x00\x02hi", false), p.headers(1, true, trailers...))
	b := p.fieldBlock(":method", "POST", "a-name", "a-value")
	for _, split := range []uint8{0, 1, 7} {
		f.Add(true, split, join(start, call))
		f.Add(true, split, join(start, call, p.request(3, true), rst(3, 8), window(0, 1000), window(1, 5), ping("12345678")))
		f.Add(true, split, join(start, raw(fHeaders, 1, 1, b[:5]), raw(fContinuation, 4, 1, b[5:]), raw(fPriority, 0, 5, make([]byte, 5))))
		f.Add(true, split, join(start, raw(fHeaders, 4|8|0x20, 1, append([]byte{2, 0, 0, 0, 3, 9}, append(p.fieldBlock(request...), 0, 0)...)),
			raw(fData, 8, 1, []byte("\x03data\x00\x00\x00")), goAway(0, 0, "bye")))
		f.Add(false, split, reply)
		f.Add(false, split, join(reply, goAway(1, 11, "too_many_pings"), ping("12345678"), raw(0x42, 1, 0, []byte("new"))))
		f.Add(false, split, join(settings(1, 0, 3, 0, 4, 0, 5, 1<<20, 6, 10), settings(4, 1<<20), window(0, 1<<20), rst(1, 7)))
	}
	f.Fuzz(func(t *testing.T, server bool, split uint8, input []byte) {
		if len(input) > 64<<10 {
			return
		}
		side, role := protocol.Client, &testRole{quiet: true, greedy: true}
		if server {
			side, role = protocol.Server, echoRole()
		}
		self, nc := memPipe(1 << 20)
		if split > 0 {
			nc.out.maxRead = int(split)
		}
		closed := make(chan struct{})
		cfg := &protocol.Config{Pool: mem.DefaultBufferPool(), MaxHeaderList: 4 << 10, MaxStreams: 8, PrefaceTimeout: time.Minute}
		c := New(under(self, split), side, cfg, &closingRole{role, closed})
		c.Start()
		if side == protocol.Client {
			for range 2 {
				s := newTestStream(role)
				m := message("hello")
				m.Headers = request
				if c.Open(&s.Stream, m, nil) != nil {
					break
				}
			}
		}
		nc.Write(input)
		nc.CloseWrite()
		select {
		case <-closed:
		case <-time.After(patience):
			t.Fatal("the connection does not end")
		}
		nc.Close()
		if n := openStreams(c); n != 0 {
			t.Errorf("%d streams left", n)
		}
		if role.accept != nil {
			awaitIdle(t, role)
		}
	})
}

// under gives every second input a connection that can only wait.
func under(c *memConn, split uint8) net.Conn {
	if split&1 == 1 {
		return plainConn{c}
	}
	return c
}

// closingRole says when it was told of the end.
type closingRole struct {
	*testRole
	closed chan struct{}
}

func (r *closingRole) Closed(error) { close(r.closed) }
