// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"bytes"
	"testing"
	"time"

	"google.golang.org/grpc/internal/alarm"
	"google.golang.org/grpc/internal/clock"
	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/internal/transport/h2/protocol"
	"google.golang.org/grpc/mem"
)

func TestKeepaliveVerdicts(t *testing.T) {
	const s = int64(time.Second)
	type step struct {
		now, lastRead int64
		streams       int
		want          protocol.KeepaliveVerdict
		next          time.Duration
	}
	for _, tt := range []struct {
		name  string
		cfg   protocol.Keepalive
		steps []step
	}{
		{"quiet peer that answers", protocol.Keepalive{Interval: 10 * time.Second, Timeout: time.Second}, []step{
			{10 * s, 0, 1, protocol.KeepAsk, time.Second},
			{11 * s, 10*s + 1, 1, protocol.KeepWaiting, 9*time.Second + 1},
			{20*s + 1, 10*s + 1, 1, protocol.KeepAsk, time.Second},
			{20*s + 2, 10*s + 1, 1, protocol.KeepWaiting, time.Second - 1},
			{21*s + 1, 10*s + 1, 1, protocol.KeepDead, 0},
		}},
		{"busy peer", protocol.Keepalive{Interval: 10 * time.Second, Timeout: time.Second}, []step{
			{10 * s, 9 * s, 1, protocol.KeepWaiting, 9 * time.Second},
			{19 * s, 18 * s, 1, protocol.KeepWaiting, 9 * time.Second},
		}},
		{"no stream", protocol.Keepalive{Interval: 10 * time.Second, Timeout: time.Second}, []step{
			{10 * s, 0, 0, protocol.KeepDormant, 0},
		}},
		{"no stream, asked all the same", protocol.Keepalive{Interval: 10 * time.Second, Timeout: time.Second, WithoutStreams: true}, []step{
			{10 * s, 0, 0, protocol.KeepAsk, time.Second},
			{11 * s, 0, 0, protocol.KeepDead, 0},
		}},
		{"the stream ends before the answer is due", protocol.Keepalive{Interval: 10 * time.Second, Timeout: 5 * time.Second}, []step{
			{10 * s, 0, 1, protocol.KeepAsk, 5 * time.Second},
			{15 * s, 11 * s, 0, protocol.KeepDormant, 0},
		}},
	} {
		var k protocol.KeepaliveState
		for i, st := range tt.steps {
			v, next := k.Check(&tt.cfg, st.now+s, st.lastRead+s, st.streams)
			if v != st.want || next != st.next {
				t.Errorf("%s, step %d: verdict %d in %v, want %d in %v", tt.name, i, v, next, st.want, st.next)
			}
		}
	}
}

const noAnswer = "connection error NO_ERROR: keepalive ping failed to receive ACK within timeout"

func TestDeadPeer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t, protocol.Client, peerConfig{Config: protocol.Config{Keepalive: protocol.Keepalive{Interval: 10 * time.Second, Timeout: 2 * time.Second}}})
		time.Sleep(time.Hour) // no stream: nobody asks
		p.want()
		p.open(protocol.Frames{End: true})
		time.Sleep(time.Second)
		p.want("HEADERS 1 end :method=POST :path=/x", "PING alive") // as nothing was heard for so long
		p.send(raw(fPing, 1, 0, []byte("alive\x00\x00\x00")))
		time.Sleep(9 * time.Second)
		p.want()
		time.Sleep(time.Second)
		p.want("PING alive")
		p.send(raw(fPing, 1, 0, []byte("alive\x00\x00\x00")))
		time.Sleep(9 * time.Second)
		p.want()
		p.send(window(0, 1)) // any input will do
		time.Sleep(9 * time.Second)
		p.want()
		time.Sleep(time.Second + time.Millisecond)
		p.want("PING alive")
		time.Sleep(2 * time.Second)
		p.wantTold("closed: "+noAnswer, "abort 1 "+noAnswer)
		p.want("EOF")
	})
}

// TestKeepalivePeriod has answers take longer than the interval, as far as they may: the peer
// is asked once in every interval all the same, and is dead when its time is over.
func TestKeepalivePeriod(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t, protocol.Client, peerConfig{Config: protocol.Config{Keepalive: protocol.Keepalive{Interval: 10 * time.Second, Timeout: 25 * time.Second}}})
		p.open(protocol.Frames{End: true})
		p.frames()
		for range 5 {
			time.Sleep(10*time.Second + time.Millisecond)
			p.want("PING alive")
			p.send(raw(fPing, 1, 0, []byte("alive\x00\x00\x00")))
		}
		time.Sleep(10*time.Second + time.Millisecond)
		p.want("PING alive")
		time.Sleep(24 * time.Second)
		p.want()
		time.Sleep(time.Second)
		p.wantTold("closed: "+noAnswer, "abort 1 "+noAnswer)
		p.want("EOF")
	})
}

// A slow body is a sign of life, long before its frame is complete.
func TestSlowBodyIsAlive(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t, protocol.Client, peerConfig{Config: protocol.Config{Keepalive: protocol.Keepalive{Interval: 10 * time.Second, Timeout: 2 * time.Second}}})
		p.open(protocol.Frames{End: true})
		p.frames()
		p.send(p.headers(1, false, response...))
		b := data(1, "a body of 23 characters", true)
		p.send(b[:9])
		for _, c := range b[9:] {
			time.Sleep(9 * time.Second)
			p.send([]byte{c})
		}
		for _, f := range p.frames() {
			if f != "PING alive" {
				t.Errorf("got %s", f)
			}
		}
		p.wantTold("headers 1 :status=200", "end 1")
	})
}

// So is a slow frame that nobody wants: DATA of a stream that is over, or a frame of an unknown type.
func TestSlowSkipIsAlive(t *testing.T) {
	for name, slow := range map[string][]byte{
		"DATA of a stream that is over": data(1, "a body of 23 characters", false),
		"a frame of an unknown type":    raw(0x77, 0, 0, []byte("23 characters it has...")),
	} {
		bubble(t, func(t *testing.T) {
			p := newPeer(t, protocol.Client, peerConfig{Config: protocol.Config{Keepalive: protocol.Keepalive{
				Interval: 10 * time.Second, Timeout: 2 * time.Second, WithoutStreams: true,
			}}})
			p.open(protocol.Frames{End: true}).Reset(frame.Cancel)
			p.frames()
			p.send(slow[:9])
			for _, c := range slow[9:] {
				time.Sleep(9 * time.Second)
				p.send([]byte{c})
			}
			for _, f := range p.frames() {
				if f != "PING alive" && f != "WINDOW_UPDATE 0 23" {
					t.Errorf("%s: got %s", name, f)
				}
			}
			p.wantTold()
		})
	}
}

// A connection that we don't read for a while has no dead peer, as long as the peer takes our output.
func TestHeldUpIsAlive(t *testing.T) {
	for _, takes := range []bool{true, false} {
		bubble(t, func(t *testing.T) {
			p := newPeer(t, protocol.Server, peerConfig{Config: protocol.Config{
				Keepalive: protocol.Keepalive{Interval: 10 * time.Second, Timeout: 2 * time.Second},
			}})
			p.nc.in.set(func() { p.nc.in.limit = 1000 }) // the socket takes no more answers
			p.send(p.request(1, true), bytes.Repeat(ping("12345678"), 20*protocol.MaxReplies), p.request(3, true))
			p.wantTold("opened 1 :method=POST :path=/x end")
			if !takes {
				time.Sleep(11 * time.Second)
				p.wantTold()
				time.Sleep(2 * time.Second)
				p.settle()
				p.wantTold("closed: "+noAnswer, "abort 1 "+noAnswer)
				return
			}
			for round := range 15 {
				if round < 14 {
					time.Sleep(11 * time.Second)
				}
				for range 12 {
					p.frames()
					p.settle()
				}
			}
			p.wantTold("opened 3 :method=POST :path=/x end")
		})
	}
}

// Connections whose keepalive is hours away have no timer of their own, and leave
// nothing behind.
func TestKeepaliveFarOff(t *testing.T) {
	nc, ns := socketPair(t, "unix", 0)
	cfg := &protocol.Config{
		Pool: mem.DefaultBufferPool(), Pooled: true, StaticWindow: true,
		Keepalive: protocol.Keepalive{Interval: 2 * time.Hour, Timeout: 20 * time.Second, WithoutStreams: true},
	}
	server, client := newSpinRole(true), newSpinRole(false)
	s, c := New(ns, protocol.Server, cfg, server), New(nc, protocol.Client, cfg, client)
	s.Start()
	c.Start()
	until(t, "both to be listed", func() bool { return isFarOff(c) && isFarOff(s) })
	until(t, "a PING, whose answer's timeout is no alarm", func() bool {
		l := c.lock()
		defer l.unlock()
		if l.keepalive.timer != nil && !l.keepalive.listed {
			return true
		}
		c.lastRead.Store(clock.Now() - int64(3*time.Hour)) // input may still come in
		alarm.Set((*alarmOwner)(c), 0)
		return false
	})
	until(t, "the answer", func() bool {
		return clock.Now()-c.lastRead.Load() < int64(time.Hour)
	})
	c.Close(nil)
	s.Close(nil)
	<-client.closed
	<-server.closed
	if isFarOff(c) || isFarOff(s) {
		t.Error("closed, and still listed")
	}
}

func isFarOff(c *Conn) bool {
	l := c.lock()
	defer l.unlock()
	return l.keepalive.listed
}
