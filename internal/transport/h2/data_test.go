// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/internal/transport/h2/flow"
	"google.golang.org/grpc/internal/transport/h2/protocol"
)

func TestSendWindows(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t, protocol.Client, peerConfig{settings: []http2.Setting{{ID: http2.SettingInitialWindowSize, Val: 10}}})
		f := message("0123456789")
		f.End = true
		s := p.open(f)
		p.want("HEADERS 1 :method=POST :path=/x", `DATA 1 "\x00\x00\x00\x00\n01234"`)
		p.send(settings(4, 12))
		p.want("SETTINGS ack", `DATA 1 "56"`)
		p.send(settings(4, 5)) // the window is below zero
		p.want("SETTINGS ack")
		p.send(window(1, 7))
		p.want()
		p.send(window(1, 1))
		p.want(`DATA 1 "7"`)
		p.send(window(1, 100))
		p.want(`DATA 1 "89" end`)
		p.send(p.headers(1, true, response...))
		p.settle()
		if s.Send(protocol.Frames{End: true}) != protocol.ErrStreamDone || openStreams(p.conn) != 0 {
			t.Error("not over")
		}
	})
}

// A setting brings a window from below zero up again, as updates do: RFC 9113, section 6.9.2.
func TestSendWindowRaisedFromBelowZero(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t, protocol.Client, peerConfig{settings: []http2.Setting{{ID: http2.SettingInitialWindowSize, Val: 10}}})
		f := message("0123456789")
		f.End = true
		p.open(f)
		p.want("HEADERS 1 :method=POST :path=/x", `DATA 1 "\x00\x00\x00\x00\n01234"`)
		p.send(settings(4, 5), settings(4, 8), settings(4, 10)) // -5, -2, 0
		p.want("SETTINGS ack", "SETTINGS ack", "SETTINGS ack")
		p.send(settings(4, 5), settings(4, 13))
		p.want("SETTINGS ack", "SETTINGS ack", `DATA 1 "567"`)
	})
}

// TestSendWindowRaisedFromZero: a peer that begins with a window of zero, and opens it with SETTINGS alone, gets what
// waits on a stream, and the sender that waits for room there goes on.
func TestSendWindowRaisedFromZero(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t, protocol.Client, peerConfig{limit: 1 << 20, settings: []http2.Setting{{ID: http2.SettingInitialWindowSize, Val: 0}}})
		p.send(window(0, 1<<20)) // the connection's window is no limit
		s := p.open(message(strings.Repeat("u", protocol.ShutBuffer)))
		p.want("HEADERS 1 :method=POST :path=/x")
		last := message("v")
		last.End = true
		room, _ := s.Offer(&last)
		if room == nil {
			t.Fatal("room for more, while the window is shut")
		}
		p.send(settings(4, 1<<20))
		if n := strings.Count(strings.Join(p.frames(), " "), "u"); n != protocol.ShutBuffer {
			t.Errorf("%d bytes of %d came", n, protocol.ShutBuffer)
		}
		wantRoom(t, room, s, &last)
		p.want(`DATA 1 "\x00\x00\x00\x00\x01v" end`)
	})
}

// An optional body waits for the peer's window like any other, unless the peer makes us hold too
// much already.
func TestOptionalBody(t *testing.T) {
	for _, held := range []int64{1000, 1001} {
		t.Run(fmt.Sprint(held), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := newPeer(t, protocol.Server, peerConfig{
					Config:   protocol.Config{MaxHeld: 1000},
					settings: []http2.Setting{{ID: http2.SettingInitialWindowSize, Val: 0}},
				})
				p.send(p.request(1, true))
				s := p.role.stream(1)
				more := int(held) - p.conn.Stats().Held
				s.Refund(-more)
				f := message("no")
				f.Headers, f.End, f.Optional = response, true, true
				if err := s.Send(f); err != nil {
					t.Fatal(err)
				}
				s.Refund(more)
				if held > 1000 {
					p.want("HEADERS 1 end :status=200")
					return
				}
				p.want("HEADERS 1 :status=200")
				p.send(window(1, 3))
				p.want(`DATA 1 "\x00\x00\x00"`)
				p.send(window(1, 100))
				p.want(`DATA 1 "\x00\x02no" end`)
			})
		})
	}
}

// Of the initial windows in one frame the last one stands, and only that moves the
// streams' windows: they may pass what is not allowed on the way.
func TestLastSettingStands(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t, protocol.Client, peerConfig{settings: []http2.Setting{{ID: http2.SettingInitialWindowSize, Val: 3}}})
		p.open(message("more than there is room for"))
		p.send(window(1, 1<<31-1-3-10))
		p.frames()
		p.send(settings(4, 1<<31-1, 4, 0, 3, 7, 4, 3))
		p.want("SETTINGS ack")
		p.open(message("more"))
		p.want("HEADERS 3 :method=POST :path=/x", `DATA 3 "\x00\x00\x00"`)
	})
}

// The connection's window is shared frame by frame.
func TestConnWindow(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t, protocol.Client, peerConfig{settings: []http2.Setting{{ID: http2.SettingInitialWindowSize, Val: 1 << 20}}})
		a, b := p.open(message(strings.Repeat("a", 65535-5-10))), p.open(message("bbbbbbbbbb"))
		p.frames()
		p.want()
		if !b.CallRoom(nil, false) || !a.CallRoom(nil, false) {
			t.Error("little waits: there is room")
		}
		p.send(window(0, 3))
		p.want(`DATA 3 "bbb"`)
		p.send(window(0, 100))
		p.want(`DATA 3 "bb"`)
	})
}

// TestPromisedRoom: who was told of room sends a message without a wait, whatever the peer has done with its windows
// meanwhile. Senders that may not wait rely on it.
func TestPromisedRoom(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t, protocol.Client, peerConfig{settings: []http2.Setting{{ID: http2.SettingInitialWindowSize, Val: 1 << 20}}})
		s := p.open(message(strings.Repeat("x", 65535+protocol.ShutBuffer+1000)))
		p.frames()
		if !s.CallRoom(nil, false) {
			t.Fatal("no room")
		}
		p.send(settings(4, 0))
		p.want("SETTINGS ack")
		for i, wait := range []bool{false, true} {
			f := message("y")
			if room, err := s.Offer(&f); err != nil || (room != nil) != wait {
				t.Errorf("message %d: it waits %t, %v", i, room != nil, err)
			}
		}
	})
}

// wantRoom checks that who waits for room is told of it, and that there is some for f.
func wantRoom(t *testing.T, room <-chan struct{}, s *testStream, f *protocol.Frames) {
	t.Helper()
	select {
	case <-room:
	default:
		t.Fatal("nobody is told that there is room")
	}
	if again, err := s.Offer(f); again != nil || err != nil {
		t.Fatal("no room", err)
	}
}

// TestRoomOfTheConnection: a sender that waits because of what all streams have queued is told when others have sent or
// lost theirs, though nothing moves on its own stream.
func TestRoomOfTheConnection(t *testing.T) {
	for name, end := range map[string]func(p *testPeer, id uint32){
		"reset": func(p *testPeer, id uint32) { p.send(rst(id, http2.ErrCodeCancel)) },
		"sent":  func(p *testPeer, id uint32) { p.send(window(0, 1<<20), window(id, 1<<20)) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := newPeer(t, protocol.Client, peerConfig{Config: protocol.Config{MaxHeld: 1 << 20}, settings: []http2.Setting{{ID: http2.SettingInitialWindowSize, Val: 65535}}})
				s := p.open(message(strings.Repeat("x", 65535+1000)))
				for range 4 {
					p.open(message(strings.Repeat("x", 100<<10)))
				}
				f := message("y")
				room, _ := s.Offer(&f)
				if room == nil {
					t.Fatal("room for more")
				}
				for id := uint32(3); id <= 9; id += 2 {
					end(p, id)
				}
				p.settle()
				wantRoom(t, room, s, &f)
			})
		})
	}
}

// TestRoom: there is less of it while the peer's window for the stream is shut.
func TestRoom(t *testing.T) {
	const prefix, connWindow = 5, 65535
	for name, tt := range map[string]struct {
		window uint32 // that a stream begins with
		size   int    // of a message that leaves 50 bytes too many
		on     uint32 // stream of an update that lets 100 bytes through
	}{
		"shut": {1000, protocol.ShutBuffer + 1000 - prefix + 50, 1},
		"open": {1 << 20, protocol.SendBuffer + connWindow - prefix + 50, 0},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := newPeer(t, protocol.Client, peerConfig{settings: []http2.Setting{{ID: http2.SettingInitialWindowSize, Val: tt.window}}})
				s := p.open(message(strings.Repeat("x", tt.size)))
				f := message(strings.Repeat("x", 1000))
				room, _ := s.Offer(&f)
				if room == nil {
					t.Fatal("room for more")
				}
				p.send(window(tt.on, 100))
				wantRoom(t, room, s, &f)
				room, _ = s.Offer(&f)
				p.conn.Close(nil)
				synctest.Wait()
				<-room
			})
		})
	}
}

// Padding is a part of the windows, and comes back.
func TestPaddingCounts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t, protocol.Server, peerConfig{Config: protocol.Config{StreamWindow: 1000, StaticWindow: true}})
		padded := func(n, pad int, flags http2.Flags) []byte {
			b := append([]byte{byte(pad)}, strings.Repeat("d", n)...)
			return raw(fData, 8|flags, 1, append(b, make([]byte, pad)...))
		}
		p.send(p.request(1, false), padded(100, 255, 0), padded(0, 255, 0))
		p.want("WINDOW 1 256", "WINDOW 1 256")
		s := p.role.stream(1)
		s.Consume(100, 0)
		p.want()
		p.send(padded(900, 0, 0))
		p.want("RST 1 FLOW_CONTROL_ERROR")
		if got := s.received(); got != strings.Repeat("d", 100) {
			t.Errorf("received %d bytes", len(got))
		}
	})
}

// Received windows grow for who waits, and are granted in lumps.
func TestReceiveWindows(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t, protocol.Server, peerConfig{Config: protocol.Config{StreamWindow: 1000, StaticWindow: true}})
		p.send(p.request(1, false), data(1, strings.Repeat("x", 600), false))
		s := p.role.stream(1)
		s.Consume(100, 0)
		p.want()
		s.Consume(200, 0)
		p.want("WINDOW 1 300")
		s.Expect(5000, 0)
		p.want("WINDOW 1 4300")
		s.Consume(300, 0)
		p.want()
		p.send(data(1, strings.Repeat("x", 5000), true))
		s.Consume(5000, 0)
		p.want() // it has ended: no use
	})
}

// What is freed may be less than nothing: the reader has made room for a message meanwhile.
func TestNegativeRefundIsCharged(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t, protocol.Server, peerConfig{})
		p.send(p.request(1, false))
		s := p.role.stream(1)
		before := p.conn.Stats().Held
		s.Consume(0, -5000)
		s.Expect(0, -300)
		if held := p.conn.Stats().Held - before; held != 5300 {
			t.Errorf("%d bytes are charged, want 5300", held)
		}
		s.Consume(0, 5300)
		if held := p.conn.Stats().Held; held != before {
			t.Errorf("%d bytes are charged at the end, want %d", held, before)
		}
	})
}

// The windows grow with what the path carries: an estimate by PINGs, which are
// never sent alone.
func TestWindowsGrow(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t, protocol.Server, peerConfig{})
		p.role.greedy = true
		p.send(p.request(1, false), data(1, strings.Repeat("x", 8000), false))
		p.want()
		p.send(data(1, strings.Repeat("x", 768), false))
		p.want("PING bdp")
		p.role.stream(1).Expect(1<<20, 0) // what the test sends is not what is tested
		for range 4 {
			p.send(data(1, strings.Repeat("x", 15000), false))
		}
		p.frames()
		time.Sleep(time.Microsecond)
		p.send(raw(fPing, 1, 0, []byte("bdp\x00\x00\x00\x00\x00")))
		p.want("SETTINGS INITIAL_WINDOW_SIZE=131070")
		p.send(raw(fSettings, 1, 0, nil), data(1, "", true))
		p.wantTold("opened 1 :method=POST :path=/x", "end 1")
	})
}

// On a far path the answer to a PING is answered with what the connection's window lacks, however little
// that is: the peer's TCP hears at once that the answer has come. On a short path nothing is sent for it.
func TestUpdateAfterPing(t *testing.T) {
	const n = 16000
	answer := raw(fPing, 1, 0, []byte("bdp\x00\x00\x00\x00\x00"))
	for trip, want := range map[time.Duration][]string{
		time.Millisecond:       nil,
		100 * time.Millisecond: {fmt.Sprint("WINDOW 0 ", 9*n)},
	} {
		bubble(t, func(t *testing.T) {
			p := newPeer(t, protocol.Server, peerConfig{Config: protocol.Config{StreamWindow: 1 << 20, ConnWindow: 1 << 20}})
			p.role.greedy = true
			p.send(p.request(1, false))
			lot := data(1, strings.Repeat("x", n), false)
			for range 9 {
				p.send(lot)
			}
			p.want("PING bdp")
			time.Sleep(trip) // the fake clock's
			p.send(answer)
			p.want(want...)
		})
	}
}

// Where a far path has become short, the windows that it needed are taken back; the peer may have sent
// what the old ones let it send until it has acknowledged that.
func TestWindowsComeDown(t *testing.T) {
	const n = 16000
	lot, answer := data(1, strings.Repeat("x", n), false), raw(fPing, 1, 0, []byte("bdp\x00\x00\x00\x00\x00"))
	bubble(t, func(t *testing.T) {
		p := newPeer(t, protocol.Server, peerConfig{})
		p.role.greedy = true
		p.send(p.request(1, false), lot)
		p.want("PING bdp")
		time.Sleep(100 * time.Millisecond)
		p.send(answer)
		p.want(fmt.Sprint("SETTINGS INITIAL_WINDOW_SIZE=", 512<<10), fmt.Sprint("WINDOW 0 ", 512<<10-flow.DefaultWindow+n))
		p.send(raw(fSettings, 1, 0, nil))
		sent := 1
		for ; !slices.Contains(p.frames(), "PING bdp"); sent++ {
			time.Sleep(100 * time.Millisecond)
			p.send(lot)
		}
		time.Sleep(time.Millisecond)
		p.send(answer)
		p.want(fmt.Sprint("SETTINGS INITIAL_WINDOW_SIZE=", 64<<10))
		for range 512<<10/n - sent {
			p.send(lot)
		}
		p.send(raw(fSettings, 1, 0, nil))
		p.frames()
		c := p.conn.lock()
		defer c.unlock()
		for in := range c.core.ReceiveWindows() {
			if w := in.Window(); w > 64<<10 {
				t.Errorf("a window of %d, though all was consumed", w)
			}
		}
	})
}

// A stream whose window is wide for a large message keeps that of all from
// growing so far that its own would pass the protocol's limit.
func TestWindowsGrowWithinTheLimit(t *testing.T) {
	for _, again := range []bool{false, true} {
		bubble(t, func(t *testing.T) {
			p := newPeer(t, protocol.Server, peerConfig{})
			p.role.greedy = true
			p.send(p.request(1, false), data(1, strings.Repeat("x", 16000), false), data(1, strings.Repeat("x", 16000), false))
			p.send(data(1, strings.Repeat("x", 768), false))
			s := p.role.stream(1)
			s.Expect(flow.MaxWindow, 0)
			for range 4 {
				p.send(data(1, strings.Repeat("x", 15000), false))
			}
			want := []string{fmt.Sprintf("SETTINGS INITIAL_WINDOW_SIZE=%d", 65535+4*15000)}
			if again {
				s.Expect(flow.MaxWindow, 0)
				want = nil
			}
			p.frames()
			time.Sleep(time.Microsecond)
			p.send(raw(fPing, 1, 0, []byte("bdp\x00\x00\x00\x00\x00")))
			p.want(want...)
		})
	}
}

// The connection's window is wide from its first update on, unless somebody has said how wide it is
// to be.
func TestWindowOfConnWidens(t *testing.T) {
	const n = 16000
	lot := data(1, strings.Repeat("x", n), false)
	for _, tt := range []struct {
		name string
		cfg  protocol.Config
		want uint32 // of the first update
	}{
		{"by default", protocol.Config{}, 1<<20 - flow.DefaultWindow + 2*n},
		{"static", protocol.Config{StaticWindow: true}, 2 * n},
		{"of a size", protocol.Config{ConnWindow: 1 << 16}, 2 * n},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := newPeer(t, protocol.Server, peerConfig{Config: tt.cfg})
				p.send(p.request(1, false), lot)
				if tt.cfg.StaticWindow {
					p.want()
				} else {
					p.want("PING bdp")
				}
				p.send(lot)
				p.want(fmt.Sprint("WINDOW 0 ", tt.want))
				p.send(lot, lot)
				if !tt.cfg.StaticWindow && tt.cfg.ConnWindow == 0 {
					p.want() // a quarter of it is far
				}
			})
		})
	}
}

// "A receiver MUST treat the receipt of a WINDOW_UPDATE frame with a flow-control
// window increment of 0 as" an error, RFC 9113 section 6.9.
func TestWindowOfConnStays(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t, protocol.Server, peerConfig{Config: protocol.Config{ConnWindow: 1 << 20}})
		c := p.conn.lock()
		c.core.GrowWindows(1 << 17)
		c.unlockAndFlush()
		p.want("SETTINGS INITIAL_WINDOW_SIZE=131072")
	})
}

// The windows of all streams together stay below what may be held: they grow no further, and with more
// streams they are lowered.
func TestWindowsWithinTheBound(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t, protocol.Server, peerConfig{Config: protocol.Config{MaxHeld: 4 << 20}})
		p.send(p.request(1, false))
		c := p.conn.lock()
		c.core.GrowWindows(1 << 24)
		c.unlockAndFlush()
		p.want(fmt.Sprint("SETTINGS INITIAL_WINDOW_SIZE=", 1<<20), fmt.Sprint("WINDOW 0 ", 1<<24-flow.DefaultWindow))
		for id := uint32(3); id < 17; id += 2 {
			p.send(p.request(id, false))
		}
		p.send(data(3, "x", false))
		const lowered = 1 << 20 / 8
		p.want(fmt.Sprint("SETTINGS INITIAL_WINDOW_SIZE=", lowered))
		p.send(raw(fSettings, 1, 0, nil)) // of the first
		windows := func() (windows []uint32) {
			c := p.conn.lock()
			defer c.unlock()
			for in := range c.core.ReceiveWindows() {
				windows = append(windows, in.Window())
			}
			slices.Sort(windows)
			return slices.Compact(windows)
		}
		if w := windows(); w[0] != 1<<20-1 || w[len(w)-1] != 1<<20 {
			t.Errorf("windows of %d before the peer has heard of less", w)
		}
		p.send(raw(fSettings, 1, 0, nil), data(3, "x", false))
		p.want()
		if w := windows(); w[0] != lowered-2 || w[len(w)-1] != lowered {
			t.Errorf("windows of %d in the end", w)
		}
	})
}

// Many streams bound their own windows, not the connection's, which holds nothing. When they have ended
// the next answer to a PING gives back what they took, though the estimate has not changed.
func TestWindowsGrowAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t, Server, peerConfig{Config: Config{MaxHeld: 8 << 20}})
		for id := uint32(1); id < 17; id += 2 {
			p.send(p.request(id, false))
		}
		c := p.conn.lock()
		c.core.GrowWindows(1 << 24)
		c.unlockAndFlush()
		p.want(fmt.Sprint("SETTINGS INITIAL_WINDOW_SIZE=", 2<<20/8), fmt.Sprint("WINDOW 0 ", 1<<24-flow.DefaultWindow))
		for id := uint32(3); id < 17; id += 2 {
			p.send(rst(id, http2.ErrCodeCancel))
		}
		c = p.conn.lock()
		c.core.GrowWindows(1 << 24)
		c.core.GrowWindows(1 << 24)
		c.unlockAndFlush()
		p.want(fmt.Sprint("SETTINGS INITIAL_WINDOW_SIZE=", 2<<20))
	})
}

// Streams take turns, frame by frame.
func TestFairness(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const n = 8
		p := newPeer(t, protocol.Client, peerConfig{limit: 1 << 20, settings: []http2.Setting{{ID: http2.SettingInitialWindowSize, Val: 1 << 20}}})
		body := strings.Repeat("x", 200<<10)
		for range n {
			p.open(message(body))
		}
		p.send(window(0, 64<<10))
		p.frames()
		sent := map[string]int{}
		for range 4 * n {
			p.send(window(0, 16384))
			for _, f := range p.frames() {
				id, _, _ := strings.Cut(strings.TrimPrefix(f, "DATA "), " ")
				sent[id] += len(f)
			}
		}
		least, most := 1<<30, 0
		for _, v := range sent {
			least, most = min(least, v), max(most, v)
		}
		if len(sent) != n || most-least > 20000 {
			t.Errorf("sent %v", sent)
		}
	})
}

// A smaller window than the protocol's binds the peer once it has heard of it.
func TestSmallWindowBindsWhenAcknowledged(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t, protocol.Server, peerConfig{raw: true, Config: protocol.Config{StreamWindow: 100, StaticWindow: true}})
		p.send([]byte(http2.ClientPreface), settings(), p.request(1, false), data(1, strings.Repeat("x", 1000), false))
		p.want("SETTINGS INITIAL_WINDOW_SIZE=100", "SETTINGS ack")
		p.send(raw(fSettings, 1, 0, nil))
		s := p.role.stream(1)
		s.Consume(1000, 0)
		p.want("WINDOW 1 1000") // it was at -900
		p.send(p.request(3, false), data(3, strings.Repeat("x", 101), false))
		p.want("RST 3 FLOW_CONTROL_ERROR")
	})
}

// waking counts how often it was woken.
type waking int

func (w *waking) Wake() { *w++ }

// Messages are offered to streams: where there is no room nothing is taken, and whoever waits is
// woken once there is; those with More are written with the last, or by Flush, in memory of the size
// of all.
func TestOffers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t, protocol.Client, peerConfig{settings: []http2.Setting{{ID: http2.SettingInitialWindowSize, Val: 100}}})
		a, b := p.open(protocol.Frames{}), p.open(protocol.Frames{})
		p.frames()
		offer := func(s *testStream, body string, more int) bool {
			t.Helper()
			f := message(body)
			f.More = more
			taken, err := s.OfferTo(&f, nil)
			if err != nil {
				t.Error(err)
			}
			return taken
		}
		offer(a, "1", 1)
		p.want()
		offer(b, "2", 0)
		p.want(`DATA 1 "\x00\x00\x00\x00\x011"`, `DATA 3 "\x00\x00\x00\x00\x012"`)
		offer(a, strings.Repeat("x", 35), 600)
		if have := p.conn.core.State().Queued; have < 600*49 {
			t.Errorf("room for %d bytes, want that for all messages", have)
		}
		a.Flush()
		p.want(`DATA 1 "\x00\x00\x00\x00#` + strings.Repeat("x", 35) + `"`)

		var w waking
		for range 2 {
			if !offer(a, strings.Repeat("y", protocol.ShutBuffer/2+100), 1) {
				t.Fatal("no room")
			}
		}
		a.Flush() // which uses its window up
		f := message("z")
		for range 2 {
			if taken, err := a.OfferTo(&f, &w); taken || err != nil || w != 0 {
				t.Fatalf("taken: %v, %v; woken %d times", taken, err, w)
			}
		}
		p.send(window(0, 1<<20), window(1, protocol.ShutBuffer))
		if p.frames(); w != 1 {
			t.Errorf("woken %d times", w)
		}
		if !offer(a, "z", 0) || !offer(b, "z", 0) {
			t.Error("no room again")
		}
		a.Reset(0)
		if taken, err := a.OfferTo(&f, &w); !taken || err != protocol.ErrStreamDone || w != 1 {
			t.Errorf("when it is over: %v, %v, woken %d times", taken, err, w)
		}
	})
}
