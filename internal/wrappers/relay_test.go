// SPDX-License-Identifier: Apache-2.0

package wrappers

import (
	"net"
	"sync"
	"testing"

	"google.golang.org/grpc/internal/testutils"
)

// relay stands between both ends and passes on what they send: in pieces, some of it later,
// or not to the end.
type relay struct {
	network, to string
	lis         net.Listener
	running     sync.WaitGroup

	mu    sync.Mutex
	links []*link
}

// link is a connection through a relay.
type link struct{ up, down *flow } // from the client, and from the server

// flow is one direction of a link.
type flow struct {
	from, to net.Conn

	mu      sync.Mutex
	changed sync.Cond
	piece   int  // bytes of a write at most; 0: any number
	left    int  // bytes until it stops; -1: it does not
	over    bool // nothing more is passed on
}

func newRelay(t *testing.T, network, to string) *relay {
	t.Helper()
	r := &relay{network: network, to: to, lis: testutils.ListenOn(t, network)}
	r.running.Go(r.run)
	t.Cleanup(func() {
		r.lis.Close()
		r.mu.Lock()
		for _, l := range r.links {
			l.cut(false)
		}
		r.mu.Unlock()
		r.running.Wait()
	})
	return r
}

func (r *relay) run() {
	for {
		client, err := r.lis.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial(r.network, r.to)
		if err != nil { // the server is gone
			client.Close()
			continue
		}
		l := &link{newFlow(client, server), newFlow(server, client)}
		r.mu.Lock()
		r.links = append(r.links, l)
		r.mu.Unlock()
		r.running.Go(l.up.run)
		r.running.Go(l.down.run)
	}
}

// last is the newest link.
func (r *relay) last() *link {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.links[len(r.links)-1]
}

// pieces has both directions write n bytes at a time at most.
func (l *link) pieces(n int) {
	for _, f := range []*flow{l.up, l.down} {
		f.mu.Lock()
		f.piece = n
		f.mu.Unlock()
	}
}

// cut ends the link at once, by a reset or as if both ends had closed.
func (l *link) cut(reset bool) {
	for _, f := range []*flow{l.up, l.down} {
		if tcp, ok := f.from.(*net.TCPConn); ok && reset {
			_ = tcp.SetLinger(0)
		}
		f.from.Close()
		f.end()
	}
}

func newFlow(from, to net.Conn) *flow {
	f := &flow{from: from, to: to, left: -1}
	f.changed.L = &f.mu
	return f
}

func (f *flow) run() {
	defer f.end()
	b := make([]byte, 64<<10)
	for {
		n, err := f.from.Read(b)
		if !f.pass(b[:n]) {
			return
		}
		if err != nil {
			_ = f.to.(interface{ CloseWrite() error }).CloseWrite() // it may be closed
			return
		}
	}
}

func (f *flow) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.over = true
	f.changed.Broadcast()
}

// pass reports whether all of p was written.
func (f *flow) pass(p []byte) bool {
	for len(p) > 0 {
		n := f.take(len(p))
		if n == 0 {
			return false
		}
		if _, err := f.to.Write(p[:n]); err != nil {
			return false
		}
		p = p[n:]
	}
	return true
}

// take waits until some of n bytes may be passed on, and says how many; 0: never.
func (f *flow) take(n int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.left == 0 && !f.over {
		f.changed.Wait()
	}
	if f.over {
		return 0
	}
	if f.piece > 0 {
		n = min(n, f.piece)
	}
	if f.left > 0 {
		n = min(n, f.left)
		f.left -= n
		f.changed.Broadcast()
	}
	return n
}

// allow stops the flow after n bytes more, or has it go on if n is negative.
func (f *flow) allow(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left = n
	f.changed.Broadcast()
}

// awaitStop returns when it has come to where it stops, or to its end.
func (f *flow) awaitStop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.left > 0 && !f.over {
		f.changed.Wait()
	}
}
