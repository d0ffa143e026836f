// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/internal/park"
	"google.golang.org/grpc/internal/transport/h2/protocol"
	"google.golang.org/grpc/mem"
)

// burstPeer is a client far away: it sends all that the windows let it send as one burst, and the
// next burst once the updates for it have come, a round trip later.
type burstPeer struct {
	nc net.Conn

	mu           sync.Mutex
	conn, stream int64     // what may be sent
	announced    int64     // SETTINGS_INITIAL_WINDOW_SIZE
	asked        time.Time // when a PING came that is not answered
	ping         [8]byte
	answered     int // PINGs of ours
}

func (p *burstPeer) read() {
	fr := http2.NewFramer(nil, p.nc)
	for {
		f, err := fr.ReadFrame()
		if err != nil {
			return
		}
		p.mu.Lock()
		switch f := f.(type) {
		case *http2.SettingsFrame:
			if n, ok := f.Value(http2.SettingInitialWindowSize); ok {
				p.stream += int64(n) - p.announced
				p.announced = int64(n)
			}
		case *http2.WindowUpdateFrame:
			if f.StreamID == 0 {
				p.conn += int64(f.Increment)
			} else {
				p.stream += int64(f.Increment)
			}
		case *http2.PingFrame:
			if f.IsAck() {
				p.answered++
			} else {
				p.asked, p.ping = time.Now(), f.Data
			}
		}
		p.mu.Unlock()
	}
}

// burst is what may be sent now, on stream 1.
func (p *burstPeer) burst() (all []byte, bytes int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	body := string(make([]byte, 16<<10))
	for n := min(p.conn, p.stream); n > 0; n = min(p.conn, p.stream) {
		n = min(n, int64(len(body)))
		all = append(all, data(1, body[:n], false)...)
		p.conn, p.stream, bytes = p.conn-n, p.stream-n, bytes+n
	}
	return all, bytes
}

func (p *burstPeer) hasRoom() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return min(p.conn, p.stream) > 0
}

// largest is the stream's window when nothing is unread.
func (p *burstPeer) largest() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.announced
}

// answer answers the PING, if there is one, once it is as old as a round trip, and asks with one of its
// own whether that has come.
func (p *burstPeer) answer(t *testing.T, roundTrip time.Duration) {
	p.mu.Lock()
	asked, data, answered := p.asked, p.ping, p.answered
	p.asked = time.Time{}
	p.mu.Unlock()
	if asked.IsZero() {
		return
	}
	until(t, "a round trip", func() bool { return time.Since(asked) >= roundTrip })
	p.send(t, join(raw(http2.FramePing, http2.FlagPingAck, 0, data[:]), ping("arrived?")))
	until(t, "the answer", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.answered > answered
	})
}

func (p *burstPeer) send(t *testing.T, b []byte) {
	t.Helper()
	if _, err := p.nc.Write(b); err != nil {
		t.Fatal(err)
	}
}

// On a far path each window is a burst with a silence behind it, in which the receiver parks, and the
// answer to a PING may stand alone between two silences. Windows grow all the same.
func TestWindowsGrowAcrossParking(t *testing.T) {
	if !park.Supported() {
		t.Skip("not on this system")
	}
	const (
		roundTrip = 50 * time.Millisecond
		enough    = 2 << 20
		rounds    = 60 // a machine that is busy makes some of them long, and long ones teach nothing
	)
	nc, ns := socketPair(t, "tcp", 0)
	defer nc.Close()
	var received atomic.Int64
	role := &testRole{quiet: true, greedy: true, accept: func(s *testStream, _ *protocol.HeaderBlock) error {
		s.filled = func(n int) error { received.Add(int64(n)); return nil }
		return nil
	}}
	c := New(ns, protocol.Server, &protocol.Config{Pool: mem.DefaultBufferPool(), Pooled: true}, role)
	c.Start()
	defer until(t, "the reader's end", func() bool { return c.Cause() != nil })
	defer c.Close(errors.New("enough"))
	p := &burstPeer{nc: nc, conn: 65535, stream: 65535, announced: 65535}
	go p.read()
	first := &testPeer{t: t}
	first.enc = newPeerEncoder(first)
	p.send(t, join([]byte(http2.ClientPreface), settings(), raw(fSettings, 1, 0, nil), first.request(1, false)))
	sent, round := int64(0), 0
	for ; p.largest() < enough && round < rounds; round++ {
		burst, n := p.burst()
		p.send(t, burst)
		sent += n
		until(t, "parked", func() bool { return received.Load() == sent && c.handle.Parked() })
		until(t, "an update", p.hasRoom)
		p.answer(t, roundTrip)
		until(t, "parked again", c.handle.Parked)
	}
	t.Logf("%d bytes after %d round trips", p.largest(), round)
	if p.largest() < enough {
		t.Errorf("a stream's window is %d bytes after %d round trips, want %d", p.largest(), round, enough)
	}
}
