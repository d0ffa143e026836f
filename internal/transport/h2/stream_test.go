// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/internal/park"
	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/internal/transport/h2/protocol"
	"google.golang.org/grpc/internal/warm"
)

func TestClientCall(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t, protocol.Client, peerConfig{})
		f := message("ping")
		f.End = true
		s := p.open(f)
		p.want(`HEADERS 1 :method=POST :path=/x`, `DATA 1 "\x00\x00\x00\x00\x04ping" end`)
		if err := s.Send(message("x")); err != protocol.ErrStreamDone {
			t.Errorf("Send after the end: %v", err)
		}
		p.send(p.headers(1, false, response...), data(1, "po", false), data(1, "ng", false), p.headers(1, true, trailers...))
		p.wantTold("headers 1 :status=200", "headers 1 grpc-status=0 end")
		if s.received() != "pong" || openStreams(p.conn) != 0 {
			t.Errorf("received %q, %d streams open", s.received(), openStreams(p.conn))
		}
		s.Reset(frame.Cancel) // too late for anyone
		s.Consume(4, 0)
		p.want()
	})
}

func TestServerCall(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t, protocol.Server, peerConfig{})
		p.send(p.request(1, false), data(1, "ping", true))
		p.wantTold("opened 1 :method=POST :path=/x", "end 1")
		f := message("pong")
		f.Headers, f.Trailers = response, trailers
		s := p.role.stream(1)
		if err := s.Send(f); err != nil {
			t.Fatal(err)
		}
		p.want(`HEADERS 1 :status=200`, `DATA 1 "\x00\x00\x00\x00\x04pong"`, `HEADERS 1 end grpc-status=0`)
		p.role.done(s)
		if at := p.conn.core.State(); at.Held != 0 || at.Streams != 0 {
			t.Errorf("%d bytes are held, for %d streams", at.Held, at.Streams)
		}
	})
}

// heldTasks is a kernel that runs tasks at once, or keeps them.
type heldTasks struct {
	park.Kernel // nil: there are no sockets
	holds       bool
	held        []warm.Task
}

func (k *heldTasks) Go(t warm.Task) {
	if k.holds {
		k.held = append(k.held, t)
		return
	}
	go t.Run()
}

// SendSoon leaves all writing to another goroutine, one for all that is queued until that runs.
func TestSendSoon(t *testing.T) {
	bubble(t, func(t *testing.T) {
		k := new(heldTasks)
		p := newPeer(t, protocol.Server, peerConfig{Config: protocol.Config{Driver: DriverConfig{Ground: park.NewGround(k)}}})
		p.send(p.request(1, true), p.request(3, true))
		k.holds = true
		for _, id := range []uint32{1, 3} {
			f := message("pong")
			f.Headers, f.Trailers = response, trailers
			if err := p.role.stream(id).SendSoon(f); err != nil {
				t.Fatal(err)
			}
		}
		p.want()
		if len(k.held) != 1 {
			t.Fatalf("%d tasks, want 1", len(k.held))
		}
		k.holds = false
		k.held[0].Run()
		p.want(`HEADERS 1 :status=200`, `DATA 1 "\x00\x00\x00\x00\x04pong"`, `HEADERS 1 end grpc-status=0`,
			`HEADERS 3 :status=200`, `DATA 3 "\x00\x00\x00\x00\x04pong"`, `HEADERS 3 end grpc-status=0`)
		p.role.done(p.role.stream(1))
		p.role.done(p.role.stream(3))
	})
}

// A server that has replied tells a client that still sends to stop.
func TestServerStopsClient(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t, protocol.Server, peerConfig{})
		p.send(p.request(1, false))
		p.role.stream(1).Send(protocol.Frames{Headers: response, Trailers: trailers})
		p.want("HEADERS 1 :status=200", "HEADERS 1 end grpc-status=0", "RST 1 NO_ERROR")
		p.send(data(1, "late", false), window(1, 10), data(1, "", true))
		p.want()
		p.wantTold("opened 1 :method=POST :path=/x")
	})
}

// A server that ends a stream before the client has, and says no more than that:
// nothing of the stream stays behind on the client, whose place is free again.
func TestServerEndsFirst(t *testing.T) {
	for name, end := range map[string]struct {
		send func(p *testPeer) []byte
		told []string
	}{
		"trailers": {
			func(p *testPeer) []byte {
				return join(p.headers(1, false, response...), p.headers(1, true, trailers...))
			},
			[]string{"headers 1 :status=200", "headers 1 grpc-status=0 end"},
		},
		"trailers only": {
			func(p *testPeer) []byte { return p.headers(1, true, response...) },
			[]string{"headers 1 :status=200 end"},
		},
		"DATA": {
			func(p *testPeer) []byte { return join(p.headers(1, false, response...), data(1, "x", true)) },
			[]string{"headers 1 :status=200", "end 1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := newPeer(t, protocol.Client, peerConfig{settings: []http2.Setting{
					{ID: http2.SettingInitialWindowSize, Val: 3}, {ID: http2.SettingMaxConcurrentStreams, Val: 1},
				}})
				s := p.open(message(strings.Repeat("x", 2*protocol.SendBuffer)))
				f := message("refused")
				room, _ := s.Offer(&f)
				var late error
				s.done = func() { late = s.Send(message("late")) }
				next := newTestStream(p.role)
				go p.conn.Open(&next.Stream, protocol.Frames{Headers: request, End: true}, nil)
				p.want("HEADERS 1 :method=POST :path=/x", `DATA 1 "\x00\x00\x04"`)
				p.send(end.send(p))
				p.want("RST 1 NO_ERROR", "HEADERS 3 end :method=POST :path=/x")
				p.wantTold(end.told...)
				<-room
				if again := s.Send(message("later")); late != protocol.ErrStreamDone || again != protocol.ErrStreamDone {
					t.Errorf("Send: %v when told of the end, %v after it", late, again)
				}
				if !s.CallRoom(nil, false) || s.core.Unsent() != 0 || p.conn.core.HasPending() {
					t.Error("data still waits")
				}
				p.send(window(1, 1000), rst(1, 0)) // they were on their way
				p.conn.Retire()
				p.send(p.headers(3, true, response...))
				p.want("GOAWAY 0 NO_ERROR", "EOF")
				p.wantTold("headers 3 :status=200 end", "closed: "+protocol.ErrDrained.Error())
			})
		})
	}
}

// What is wrong with the last field block of a stream is told, also when that
// has ended the stream on both sides.
func TestMalformedEnd(t *testing.T) {
	for _, tt := range []struct {
		ended bool
		want  []string
	}{{true, nil}, {false, []string{"RST 1 PROTOCOL_ERROR"}}} {
		bubble(t, func(t *testing.T) {
			p := newPeer(t, protocol.Client, peerConfig{})
			s := p.open(protocol.Frames{End: tt.ended})
			s.headers = func(*protocol.HeaderBlock, bool) error { return frame.Error{Code: frame.ProtocolError, Reason: "no"} }
			p.frames()
			p.send(p.headers(1, true, response...))
			p.want(tt.want...)
			p.wantTold("headers 1 :status=200 end", "abort 1 stream error PROTOCOL_ERROR: no")
			if n := openStreams(p.conn); n != 0 {
				t.Errorf("%d streams open", n)
			}
		})
	}
}

func TestReset(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t, protocol.Client, peerConfig{settings: []http2.Setting{{ID: http2.SettingInitialWindowSize, Val: 3}}})
		s := p.open(message("more than there is room for"))
		if !s.CallRoom(nil, false) {
			t.Error("no room for another message")
		}
		s.Reset(frame.Cancel)
		p.want("HEADERS 1 :method=POST :path=/x", `DATA 1 "\x00\x00\x00"`, "RST 1 CANCEL")
		p.send(window(1, 100), p.headers(1, false, response...), data(1, "late", true))
		p.want()
		p.wantTold() // who resets is not told
	})
}

// doneOf is a Waiting.
type doneOf chan struct{}

func (d doneOf) Done() <-chan struct{} { return d }

// TestPlaces: the peer's limit of streams holds calls up, in their order.
func TestPlaces(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t, protocol.Client, peerConfig{settings: []http2.Setting{{ID: http2.SettingMaxConcurrentStreams, Val: 2}}})
		var log journal
		cancel := make(chan struct{})
		start := func(name string, done chan struct{}) {
			go func() {
				s := newTestStream(p.role)
				err := p.conn.Open(&s.Stream, protocol.Frames{Headers: request, End: true}, doneOf(done))
				log.add("%s %d %v", name, s.ID(), err)
			}()
			synctest.Wait()
		}
		wantLog := func(lines ...string) {
			t.Helper()
			synctest.Wait()
			same(t, "calls", log.take(), lines)
		}
		start("a", nil)
		start("b", nil)
		start("c", nil)
		start("d", cancel)
		start("e", nil)
		wantLog("a 1 <nil>", "b 3 <nil>")
		p.send(p.headers(1, true, response...))
		wantLog("c 5 <nil>")
		close(cancel)
		wantLog("d 0 " + protocol.ErrNoPlace.Error())
		p.send(settings(3, 0), p.headers(3, true, response...), p.headers(5, true, response...))
		wantLog()
		start("f", nil)
		p.send(settings(3, 1))
		wantLog("e 7 <nil>")
		p.send(settings(3, 100))
		wantLog("f 9 <nil>")
		p.send(settings(3, 0))
		start("g", nil)
		p.send(goAway(9, 0, "bye"))
		wantLog("g 0 " + protocol.ErrDraining.Error())
		p.conn.Close(errors.New("enough"))
		start("h", nil)
		wantLog("h 0 enough")
	})
}

func TestHeaderListLimits(t *testing.T) {
	long := strings.Repeat("v", 200)
	t.Run("request over the peer's", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			p := newPeer(t, protocol.Client, peerConfig{settings: []http2.Setting{{ID: http2.SettingMaxHeaderListSize, Val: 200}}})
			s := newTestStream(p.role)
			err := p.conn.Open(&s.Stream, protocol.Frames{Headers: fieldList{"k", long}}, nil)
			var tooLarge *protocol.ErrHeaderListTooLarge
			if !errors.As(err, &tooLarge) || tooLarge.Size != 233 || tooLarge.Max != 200 {
				t.Errorf("Open: %v", err)
			}
			p.want()
			p.open(protocol.Frames{})
			p.want("HEADERS 1 :method=POST :path=/x") // the id was not used
		})
	})
	t.Run("trailers over the peer's", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			p := newPeer(t, protocol.Server, peerConfig{settings: []http2.Setting{{ID: http2.SettingMaxHeaderListSize, Val: 200}}})
			p.send(p.request(1, true))
			err := p.role.stream(1).Send(protocol.Frames{Headers: response, Trailers: fieldList{"k", long}})
			var tooLarge *protocol.ErrHeaderListTooLarge
			if !errors.As(err, &tooLarge) {
				t.Errorf("Send: %v", err)
			}
			p.want("HEADERS 1 :status=200", "RST 1 INTERNAL_ERROR")
		})
	})
	t.Run("trailers over the peer's, behind data that waits", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			p := newPeer(t, protocol.Server, peerConfig{settings: []http2.Setting{
				{ID: http2.SettingMaxHeaderListSize, Val: 200},
				{ID: http2.SettingInitialWindowSize, Val: 0},
			}})
			p.send(p.request(1, true))
			f := message("")
			f.Headers, f.Trailers = response, fieldList{"k", long}
			if err := p.role.stream(1).Send(f); err != nil {
				t.Errorf("Send: %v", err)
			}
			p.want("HEADERS 1 :status=200")
			p.send(window(1, 100))
			p.want(`DATA 1 "\x00\x00\x00\x00\x00"`, "RST 1 INTERNAL_ERROR")
		})
	})
	t.Run("request over ours", func(t *testing.T) {
		for _, n := range []int{1, 40} { // also more than the limit in frames
			bubble(t, func(t *testing.T) {
				p := newPeer(t, protocol.Server, peerConfig{Config: protocol.Config{MaxHeaderList: 200, StaticWindow: true}})
				fields := append(fieldList{}, request...)
				for i := range n {
					fields = append(fields, fmt.Sprint("k", i), strings.Repeat("~", 500))
				}
				b := p.fieldBlock(fields...)
				send := join(raw(fHeaders, 1, 1, b[:100]))
				for b = b[100:]; len(b) > 16384; b = b[16384:] {
					send = join(send, raw(fContinuation, 0, 1, b[:16384]))
				}
				p.send(send, raw(fContinuation, 4, 1, b), p.request(3, true))
				p.want("RST 1 ENHANCE_YOUR_CALM")
				p.wantTold("opened 3 :method=POST :path=/x end")
			})
		}
	})
	t.Run("trailers over ours", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			p := newPeer(t, protocol.Client, peerConfig{Config: protocol.Config{MaxHeaderList: 200}})
			p.open(protocol.Frames{End: true})
			p.frames()
			p.send(p.headers(1, false, response...), p.headers(1, true, "k", long))
			p.want("RST 1 ENHANCE_YOUR_CALM")
			p.wantTold("headers 1 :status=200", "abort 1 stream error ENHANCE_YOUR_CALM: header list larger than announced")
		})
	})
	t.Run("large list goes out in pieces", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			p := newPeer(t, protocol.Client, peerConfig{})
			v := strings.Repeat("~", 40000)
			p.open(protocol.Frames{Headers: fieldList{"k", v}, End: true})
			p.want("HEADERS 1 end open", "CONTINUATION 1 k="+v)
		})
	})
}

// A field block that spans frames survives any wait, and the end of its
// connection does not reach the next one.
func TestBlockCutOff(t *testing.T) {
	for range 20 {
		bubble(t, func(t *testing.T) {
			p := newPeer(t, protocol.Server, peerConfig{})
			p.send(raw(fHeaders, 0, 1, []byte{0x82}))
			p.nc.Close()
			p.settle()
			q := newPeer(t, protocol.Server, peerConfig{})
			q.send(q.request(1, true))
			q.wantTold("opened 1 :method=POST :path=/x end")
		})
	}
}

// What arrives in pieces is answered as soon as it is whole.
func TestAnswerToSplitFrame(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t, protocol.Server, peerConfig{Config: protocol.Config{StaticWindow: true}})
		b := ping("12345678")
		p.send(b[:9])
		p.send(b[9:])
		p.want("PING ack 12345678")
		p.send(p.request(1, false))
		b = data(1, strings.Repeat("x", 16384), false)
		for range 3 {
			p.send(b[:9])
			p.send(b[9:100])
			p.send(b[100:])
		}
		p.want("WINDOW 0 16384", "WINDOW 0 16384", "WINDOW 0 16384")
	})
}

// Handler errors end the stream or the connection with the code they carry.
func TestRoleErrors(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t, protocol.Server, peerConfig{accept: func(s *testStream, b *protocol.HeaderBlock) error {
			switch string(b.Value(1)) {
			case "/refuse":
				return frame.Error{Code: frame.RefusedStream, Reason: "no"}
			case "/fail":
				return errors.New("no")
			}
			s.filled = func(int) error { return errors.New("don't like it") }
			s.headers = func(*protocol.HeaderBlock, bool) error { return frame.Error{Code: frame.ProtocolError, Reason: "no"} }
			return nil
		}})
		at := func(id uint32, path string) []byte { return p.headers(id, false, ":method", "POST", ":path", path) }
		p.send(at(1, "/refuse"), at(3, "/fail"), at(5, "/"), data(5, "x", true), at(7, "/"), p.headers(7, true, "a", "b"))
		p.want("RST 1 REFUSED_STREAM", "RST 3 INTERNAL_ERROR", "RST 5 CANCEL", "RST 7 PROTOCOL_ERROR")
		p.wantTold("opened 5 :method=POST :path=/", "abort 5 stream error CANCEL: don't like it",
			"opened 7 :method=POST :path=/", "headers 7 a=b end", "abort 7 stream error PROTOCOL_ERROR: no")
		p.role.onPing = func(int) error { return frame.ConnError(frame.EnhanceYourCalm, "too_many_pings") }
		p.send(ping("12345678"))
		p.want("PING ack 12345678", "GOAWAY 7 ENHANCE_YOUR_CALM", "EOF")
	})
}
