// SPDX-License-Identifier: Apache-2.0

package wrappers

import (
	"bytes"
	"context"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal/envconfig"
	"google.golang.org/grpc/internal/park"
)

// The suite: what can happen to a connection happens over each kind of wrapper, over TCP
// and unix sockets, with our TLS and without. Each case begins with a connection that
// carried a call.
var suite = []struct {
	name string
	run  func(p *place, whyNot string)
}{
	{"parks and wakes", func(p *place, whyNot string) {
		for range 3 {
			p.awaitIdle(whyNot)
			p.mustEcho([]byte("again"))
		}
	}},
	{"was busy", func(p *place, whyNot string) {
		var callers sync.WaitGroup
		for range 4 {
			callers.Go(func() {
				for range 100 {
					if err := p.echo(p.t.Context(), []byte("busy")); err != nil {
						p.t.Error(err)
						return
					}
				}
			})
		}
		callers.Wait()
		p.awaitIdle(whyNot)
	}},
	{"a message wakes a stream", func(p *place, whyNot string) {
		s := p.stream(p.t.Context())
		for range 3 {
			p.awaitIdle(whyNot)
			p.push <- struct{}{}
			if err := received(s); err != nil {
				p.t.Fatal(err)
			}
		}
	}},
	{"messages at any time", func(p *place, _ string) {
		s := p.stream(p.t.Context())
		for range 30 { // on either side of the moment when it parks
			time.AfterFunc(rand.N(2*park.Linger), p.pushSoon)
			if err := received(s); err != nil {
				p.t.Fatal(err)
			}
		}
	}},
	{"large messages", func(p *place, whyNot string) {
		for _, n := range []int{0, 1, 16 << 10, 1 << 20, 5 << 20} {
			p.mustEcho(bytes.Repeat([]byte("0123456789abcdef"), (n+15)/16))
		}
		p.awaitIdle(whyNot)
	}},
	{"deadline and cancel", func(p *place, whyNot string) {
		ctx, cancel := context.WithTimeout(p.t.Context(), 50*time.Millisecond)
		p.wantCode(p.echo(ctx, []byte("wait")), codes.DeadlineExceeded)
		cancel()
		ctx, cancel = context.WithCancel(p.t.Context())
		time.AfterFunc(20*time.Millisecond, cancel)
		p.wantCode(p.echo(ctx, []byte("wait")), codes.Canceled)
		p.awaitIdle(whyNot)
		p.mustEcho([]byte("after"))
	}},
	{"reset while idle", func(p *place, whyNot string) {
		p.awaitIdle(whyNot)
		if tcp, ok := p.last(&p.taken).(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = p.last(&p.taken).Close()
		p.lose()
		p.mustEcho([]byte("after"))
	}},
	{"reset with a stream", func(p *place, whyNot string) {
		s := p.stream(p.t.Context())
		p.awaitIdle(whyNot)
		if tcp, ok := p.last(&p.dialed).(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = p.last(&p.dialed).Close()
		p.wantCode(received(s), codes.Unavailable)
		p.mustEcho([]byte("after"))
	}},
	{"half-closed while idle", func(p *place, whyNot string) {
		p.awaitIdle(whyNot)
		if err := p.last(&p.taken).(interface{ CloseWrite() error }).CloseWrite(); err != nil {
			p.t.Fatal(err)
		}
		p.lose()
		p.mustEcho([]byte("after"))
	}},
	{"half-closed with a stream", func(p *place, whyNot string) {
		s := p.stream(p.t.Context())
		p.awaitIdle(whyNot)
		if err := p.last(&p.dialed).(interface{ CloseWrite() error }).CloseWrite(); err != nil {
			p.t.Fatal(err)
		}
		p.wantCode(received(s), codes.Unavailable)
		p.mustEcho([]byte("after"))
	}},
	{"the server stops", func(p *place, whyNot string) {
		s := p.stream(p.t.Context())
		p.awaitIdle(whyNot)
		p.server.Stop()
		p.wantCode(received(s), codes.Unavailable)
		p.lose()
	}},
	{"the server drains", func(p *place, whyNot string) {
		ctx, cancel := context.WithCancel(p.t.Context())
		s := p.stream(ctx)
		p.awaitIdle(whyNot)
		done := make(chan struct{})
		go func() { p.server.GracefulStop(); close(done) }()
		p.lose()
		p.push <- struct{}{}
		if err := received(s); err != nil {
			p.t.Error(err)
		}
		cancel()
		<-done
	}},
	{"the channel closes", func(p *place, whyNot string) {
		s := p.stream(p.t.Context())
		p.awaitIdle(whyNot)
		p.cc.Close()
		p.wantCode(received(s), codes.Canceled)
		if got := p.cc.GetState(); got != connectivity.Shutdown {
			p.t.Error(got)
		}
	}},
	{"the wrapper is closed at any time", func(p *place, _ string) {
		for range 8 {
			s := p.stream(p.t.Context())
			time.AfterFunc(rand.N(2*park.Linger), func() { _ = p.last(&p.around).Close() })
			p.wantCode(received(s), codes.Unavailable)
			p.lose()
		}
		p.mustEcho([]byte("after"))
	}},
	{"a deadline is over", func(p *place, whyNot string) {
		for _, list := range []*[]net.Conn{&p.taken, &p.dialed} {
			p.awaitIdle(whyNot)
			_ = p.last(list).SetDeadline(time.Unix(1, 0))
			if err := p.echo(p.t.Context(), []byte("soon")); err != nil {
				p.wantCode(err, codes.Unavailable)
			}
			p.mustEcho([]byte("after"))
		}
	}},
	{"everything at once", func(p *place, _ string) {
		ctx, cancel := context.WithCancel(p.t.Context())
		var running sync.WaitGroup
		for range 4 {
			running.Go(func() {
				for ctx.Err() == nil {
					ctx, cancel := context.WithTimeout(ctx, rand.N(200*time.Millisecond))
					err := p.echo(ctx, make([]byte, rand.N(100_000)))
					cancel()
					if err != nil {
						p.wantCode(err, codes.DeadlineExceeded, codes.Canceled, codes.Unavailable)
					}
				}
			})
		}
		var closers sync.WaitGroup
		for i := range 12 {
			closers.Add(1)
			time.AfterFunc(rand.N(300*time.Millisecond), func() {
				defer closers.Done()
				_ = p.last([]*[]net.Conn{&p.taken, &p.dialed}[i%2]).Close()
			})
		}
		closers.Wait()
		cancel()
		running.Wait()
		// One that comes while the last close is not noticed yet may fail with it.
		if err := p.echo(p.t.Context(), []byte("soon")); err != nil {
			p.wantCode(err, codes.Unavailable)
		}
		p.mustEcho([]byte("after"))
	}},
}

// relaySuite are those for which there is a relay between the two ends.
var relaySuite = []struct {
	name string
	run  func(p *place, whyNot string)
}{
	{"in pieces", func(p *place, whyNot string) {
		s := p.stream(p.t.Context())
		for _, n := range []int{1, 2, 7, 1000} {
			p.relay.last().pieces(n)
			p.mustEcho(make([]byte, 300*n))
			p.push <- struct{}{}
			if err := received(s); err != nil {
				p.t.Fatal(err)
			}
		}
		p.awaitIdle(whyNot)
		p.mustEcho([]byte("after"))
	}},
	{"the rest comes later", func(p *place, whyNot string) {
		s := p.stream(p.t.Context())
		l := p.relay.last()
		for range 10 { // some of it on either side of the moment when it parks
			l.down.allow(rand.N(50))
			p.push <- struct{}{}
			time.AfterFunc(rand.N(2*park.Linger), func() { l.down.allow(-1) })
			if err := received(s); err != nil {
				p.t.Fatal(err)
			}
			l.up.allow(rand.N(150))
			time.AfterFunc(rand.N(2*park.Linger), func() { l.up.allow(-1) })
			p.mustEcho(make([]byte, 100))
		}
		p.awaitIdle(whyNot)
	}},
	{"cut anywhere", func(p *place, whyNot string) {
		for i := range 6 {
			s := p.stream(p.t.Context())
			if i%4 == 3 {
				p.awaitIdle(whyNot)
			}
			l := p.relay.last()
			f := []*flow{l.up, l.down}[i%2]
			f.allow(rand.N(100))
			done := make(chan error, 1)
			go func() { done <- p.echo(p.t.Context(), make([]byte, 200)) }()
			f.awaitStop()
			l.cut(rand.N(2) == 0)
			p.wantCode(<-done, codes.Unavailable, codes.OK) // it may have begun after the cut
			p.wantCode(received(s), codes.Unavailable)
		}
		p.mustEcho([]byte("after"))
	}},
}

func TestSuite(t *testing.T) {
	if !park.Supported() {
		t.Skip("no connection parks here")
	}
	if !envconfig.HTTPFramerReadBufferPooling {
		t.Skip("no connection parks: see TestReasonOfSwitch")
	}
	// Most of the time all of them wait, so they run side by side; t.Parallel would have them
	// wait for a processor.
	var running sync.WaitGroup
	slots := make(chan struct{}, 64)
	start := func(s setting, name string, relayed bool, run func(*place, string)) {
		running.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			t.Run(s.String()+": "+name, func(t *testing.T) {
				p := newPlace(t, s, relayed)
				p.mustEcho([]byte("first"))
				run(p, s.whyNot())
			})
		})
	}
	for _, s := range settings() {
		for _, c := range suite {
			start(s, c.name, false, c.run)
		}
		for _, c := range relaySuite {
			start(s, c.name, true, c.run)
		}
	}
	running.Wait()
}
