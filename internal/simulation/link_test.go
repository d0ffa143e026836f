// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc/internal/transport"
	"google.golang.org/grpc/internal/transport/h2"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/resolver"
)

// link is a connection, both ends of it.
type link struct {
	w            *world
	n            int
	near, far    *socket   // the client's end, and the server's
	host         *host     // the server of the channel's that it goes to; nil: there is no channel
	dialed       time.Time // when the channel began to make it
	upSince      time.Time // when the channel had made it
	told         bool      // the channel's stats handlers were told of its beginning
	client       *transport.Client
	server       *transport.Server
	connectErr   error
	connected    bool   // Connect has returned
	disturbed    string // why calls may fail
	prompt       bool   // it is to end soon
	drained      bool   // either side takes no more calls
	leftHeard    bool   // the client was told that the server takes leave, or has taken leave itself
	most         int    // how many calls had begun at a time, and their handlers not returned
	clientClosed int    // how many times the client was told of the end
	serverClosed int
	clientCause  error
	serverCause  error
}

func (l *link) ends() [2]*socket { return [2]*socket{l.near, l.far} }

func (l *link) disturb(why string) {
	if l.disturbed == "" {
		l.disturbed = why
	}
}

// begins follows the beginning of a call: it counts those that the server may be busy with.
func (l *link) begins() {
	n := 0
	for _, k := range l.w.calls {
		if k.link == l && k.began && !k.handlerDone {
			n++
		}
	}
	l.most = max(l.most, n)
}

// cut breaks a connection: what is on its way is lost.
func (l *link) cut(err error) {
	l.w.note(l.near, "is cut off")
	l.disturb("cut")
	for _, s := range l.ends() {
		s.broken = err
		s.input.clear()
	}
}

// endsTold is how many times the client is to be told of the end.
func (l *link) endsTold() int {
	if l.host != nil && !l.told {
		return 0 // it did not come up
	}
	return 1
}

// connect begins another connection.
func (w *world) connect() {
	l := w.newLink()
	w.program("accept", l.accept)
	w.program("connect", l.dial)
}

// newLink makes two sockets.
func (w *world) newLink() *link {
	l := &link{w: w, n: len(w.links)}
	limit := 1 << 20
	switch {
	case w.swarm.has(smallRoom) && w.swarm.has(bulk): // else there would be too many steps
		limit = of(w.c, 40000, 16000, 5000)
	case w.swarm.has(smallRoom):
		limit = of(w.c, 4096, 1024, 100, 20)
	}
	l.near = w.socket(l, "client", limit)
	l.far = w.socket(l, "server", limit)
	l.near.peer, l.far.peer = l.far, l.near
	l.near.watch, l.far.watch = newObserver(l.near), newObserver(l.far)
	l.near.watch.other, l.far.watch.other = l.far.watch, l.near.watch
	w.links = append(w.links, l)
	return l
}

func (w *world) socket(l *link, side string, limit int) *socket {
	return &socket{w: w, link: l, fd: w.descriptor(), name: fmt.Sprintf("%s%d", side, l.n), limit: limit, input: input{bytes: usedMemory()}}
}

func (l *link) accept() {
	nc, err := l.far.conn()
	if err != nil {
		l.w.note(l.far, "has no handshake: %v", err)
		l.serverClosed++
		return
	}
	s := transport.NewServer(context.Background(), nc, &peer.Peer{Addr: nc.RemoteAddr(), LocalAddr: nc.LocalAddr()}, l.w.host)
	l.server = s
	s.Watch()
	s.Start()
}

func (l *link) dial() {
	cfg := l.w.client
	cfg.Dial = func(context.Context, string) (net.Conn, error) {
		nc, err := l.near.conn()
		if err != nil {
			l.clientClosed++
		}
		return nc, err
	}
	cfg.Prepare()
	c, err := transport.Connect(context.Background(), resolver.Address{Addr: "virtual"}, "virtual", transport.ConnectParams{Config: &cfg, Events: l, Watch: true})
	l.w.yield(atProgram, l.near)
	l.client, l.connectErr, l.connected = c, err, true
	l.w.note(l.near, "has connected: %v", err)
	if err != nil && !l.mayEnd() && !l.leaves() {
		l.w.fail("connection %d did not come up: %v", l.n, err)
	}
}

// Begun implements transport.ClientEvents.
func (l *link) Begun(*transport.Client) {}

// Draining implements transport.ClientEvents.
func (l *link) Draining(why transport.GoAway) {
	l.w.reach(goAwayHeard)
	l.leftHeard = true
	if !why.IsOrderly() && !l.w.mayOverflow() {
		l.w.fail("the server complains: %s %q", why.Code(), why.Debug())
	}
	if !l.leaves() && !l.mayEnd() {
		l.w.fail("the server takes leave, and nobody told it to")
	}
}

// Places implements transport.ClientEvents.
func (l *link) Places(uint32) { l.w.reach(placesTold) }

// Unparkable implements transport.ClientEvents.
func (l *link) Unparkable(string) { l.w.reach(unparkable) }

// Closed implements transport.ClientEvents.
func (l *link) Closed(err error) {
	l.clientClosed++
	l.clientCause = err
	l.ended(l.near, err, l.clientClosed)
}

// Told implements transport.ClientEvents.
func (l *link) Told(error) {}

// ended checks what an end says of the end of its connection.
func (l *link) ended(s *socket, err error, times int) {
	l.w.note(s, "has ended: %v", err)
	if times > 1 {
		l.w.fail("%s was told of its end twice", s.name)
	}
	var rule *h2.ConnError
	if errors.As(err, &rule) && rule.Code != 0 && !l.w.mayOverflow() {
		l.w.fail("%s found a rule broken: %v", s.name, err)
	}
	// A channel may give a connection up for reasons of its own, which its policy is asked about.
	if !l.mayEnd() && !l.leaves() && l.host == nil {
		l.w.fail("%s has ended, and nothing was wrong: %v", s.name, err)
	}
}
