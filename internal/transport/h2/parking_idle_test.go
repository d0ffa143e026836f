// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"testing"

	"google.golang.org/grpc/internal/park"
	"google.golang.org/grpc/internal/transport/h2/protocol"
	"google.golang.org/grpc/mem"
)

// lateRole is a server that answers when it is told to.
type lateRole struct {
	*spinRole
	calls chan *spin
}

type lateCall struct {
	*spin
	role *lateRole
}

func (l lateCall) OnEnd() error {
	l.role.calls <- l.spin
	return nil
}

func (r *lateRole) Accept(*protocol.HeaderBlock, bool) (*Stream, error) {
	s := r.stream()
	s.Init(lateCall{s, r}, 0)
	return &s.Stream, nil
}

type latePair struct {
	client, server *Conn
	role           *spinRole
	late           *lateRole
}

func lateConfig() *protocol.Config {
	return &protocol.Config{Pool: mem.DefaultBufferPool(), Pooled: true, StaticWindow: true}
}

func newLatePair(t *testing.T) *latePair {
	return newLatePairOf(t, lateConfig(), func(r *lateRole) Handler { return r })
}

// newLatePairOf is one whose server's handler is made of its role.
func newLatePairOf(t *testing.T, cfg *protocol.Config, handler func(*lateRole) Handler) *latePair {
	nc, ns := socketPair(t, "unix", 0)
	p := &latePair{role: newSpinRole(false), late: &lateRole{newSpinRole(true), make(chan *spin, 1)}}
	p.server, p.client = New(ns, protocol.Server, cfg, handler(p.late)), New(nc, protocol.Client, cfg, p.role)
	p.server.Start()
	p.client.Start()
	t.Cleanup(func() {
		p.client.Close(nil)
		p.server.Close(nil)
		<-p.role.closed
		<-p.late.closed
	})
	return p
}

// parked waits until both ends are idle.
func (p *latePair) parked(t *testing.T) {
	t.Helper()
	until(t, "parked", func() bool { return p.client.handle.Parked() && p.server.handle.Parked() })
}

// call runs one call, whose answer goes out while both ends are parked if late.
func (p *latePair) call(t *testing.T, late bool) {
	s := p.role.stream()
	if err := p.client.Open(&s.Stream, protocol.Frames{Headers: spinRequest, HasData: true, Data: p.role.data, End: true}, nil); err != nil {
		t.Fatal(err)
	}
	got := <-p.late.calls
	if late {
		p.parked(t)
	}
	got.Done()
	if err := got.Send(protocol.Frames{Headers: spinResponse, HasData: true, Data: p.late.data, Trailers: spinTrailers}); err != nil {
		t.Fatal(err)
	}
	<-s.done
}

// What two connections whose peers said the same keep of it is one thing, also after
// an answer that was sent with nobody reading; and both go on from there.
func TestIdleStateIsShared(t *testing.T) {
	if !park.Supported() {
		t.Skip("not on this system")
	}
	a, b := newLatePair(t), newLatePair(t)
	for _, late := range []bool{false, true, false, true, true} {
		a.call(t, late)
		b.call(t, false)
		a.parked(t)
		b.parked(t)
		for _, c := range [][2]*Conn{{a.client, b.client}, {a.server, b.server}} {
			wantShared(t, c[0], c[1])
		}
	}
	if a.server.in.reading.IsNew() {
		t.Error("nothing was kept: this tests nothing")
	}
}

// wantShared looks at two parked connections.
func wantShared(t *testing.T, a, b *Conn) {
	t.Helper()
	for _, c := range []*Conn{a, b} {
		c.mu.Lock()
		defer c.mu.Unlock()
	}
	if a.in.reading != b.in.reading {
		t.Errorf("one keeps %v, the other %v", a.in.reading, b.in.reading)
	}
}
