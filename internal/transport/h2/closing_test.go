// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/internal/transport/h2/protocol"
	"google.golang.org/grpc/mem"
)

// Taking leave of a client: GOAWAY without an end, a round trip, GOAWAY with
// one, and the end of the connection when the last stream has ended.
func TestDrain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t, protocol.Server, peerConfig{})
		p.send(p.request(1, true))
		p.conn.Drain(frame.NoError, "bye")
		p.conn.Drain(frame.NoError, "again")
		p.want("GOAWAY 2147483647 NO_ERROR", "PING drain")
		p.send(p.request(3, true)) // it was on its way
		p.send(raw(fPing, 1, 0, []byte("drain\x00\x00\x00")))
		p.send(p.request(5, true)) // said by who has seen the PING, and not yet acted upon the GOAWAY
		p.want()
		time.Sleep(drainGrace)
		p.want("GOAWAY 5 NO_ERROR")
		p.send(p.request(7, false), data(7, "x", true), ping("12345678")) // it was not
		p.want("PING ack 12345678")
		p.wantTold("opened 1 :method=POST :path=/x end", "opened 3 :method=POST :path=/x end", "opened 5 :method=POST :path=/x end")
		for _, id := range []uint32{1, 3, 5} {
			p.role.stream(id).Send(protocol.Frames{Headers: response, End: true})
		}
		p.want("HEADERS 1 end :status=200", "HEADERS 3 end :status=200", "HEADERS 5 end :status=200", "EOF")
		p.wantTold() // until the client has hung up
		p.send(window(0, 10), ping("12345678"))
		p.nc.CloseWrite()
		p.wantTold("closed: " + protocol.ErrDrained.Error())
	})
}

// A connection that takes leave while a stream is about to be accepted: GOAWAY
// has named the stream, so it is answered before the end.
func TestLeaveWhileAdmitting(t *testing.T) {
	const drain, ping, goAway, end = "GOAWAY 2147483647 NO_ERROR", "PING drain", "GOAWAY 1 NO_ERROR", "EOF"
	const reply, refusal = "HEADERS 1 end :status=200", "RST 1 REFUSED_STREAM"
	for name, leave := range map[string]func(c *Conn){
		"retire": (*Conn).Retire,
		"drain":  func(c *Conn) { c.Drain(frame.NoError, ""); c.drainLate() },
	} {
		for _, refuse := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/refuse=%v", name, refuse), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					var p *testPeer
					p = newPeer(t, protocol.Server, peerConfig{accept: func(s *testStream, _ *protocol.HeaderBlock) error {
						leave(p.conn)
						if refuse {
							return frame.Error{Code: frame.RefusedStream}
						}
						s.opened = func(bool) { s.Send(protocol.Frames{Headers: response, End: true}) }
						return nil
					}})
					p.send(p.request(1, true))
					answer := reply
					if refuse {
						answer = refusal
					}
					if name == "retire" {
						p.want(answer, goAway, end)
					} else {
						p.want(drain, ping, goAway, answer, end)
					}
				})
			})
		}
	}
}

// "Endpoints MUST NOT increase the value they send in the last stream
// identifier", RFC 9113 section 6.8; what comes after it is not accepted.
func TestGoAwayDoesNotRise(t *testing.T) {
	t.Run("drain", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			p := newPeer(t, protocol.Server, peerConfig{})
			p.send(p.request(1, true))
			p.conn.Drain(frame.NoError, "")
			p.send(raw(fPing, 1, 0, []byte("drain\x00\x00\x00")))
			time.Sleep(drainGrace)
			p.want("GOAWAY 2147483647 NO_ERROR", "PING drain", "GOAWAY 1 NO_ERROR")
			p.send(p.request(3, true), window(0, 0))
			p.want("GOAWAY 1 PROTOCOL_ERROR", "EOF")
		})
	})
	t.Run("retire, GOAWAY not written yet", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			p := newPeer(t, protocol.Server, peerConfig{})
			p.nc.in.set(func() { p.nc.in.limit = 5 })
			p.conn.Retire()
			p.send(p.request(1, true))
			p.nc.in.set(func() { p.nc.in.limit = 1000 })
			p.want("GOAWAY 0 NO_ERROR", "EOF")
			p.wantTold()
		})
	})
}

// A client that doesn't answer the PING, and one that doesn't hang up.
func TestDrainLate(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t, protocol.Server, peerConfig{})
		p.conn.Drain(frame.EnhanceYourCalm, "bye")
		p.want("GOAWAY 2147483647 ENHANCE_YOUR_CALM", "PING drain")
		time.Sleep(drainPatience)
		p.want("GOAWAY 0 ENHANCE_YOUR_CALM", "EOF")
		time.Sleep(lastFlush - time.Millisecond)
		p.wantTold()
		time.Sleep(2 * time.Millisecond)
		p.wantTold("closed: " + protocol.ErrDrained.Error())
	})
}

// A connection may be told to end before it starts, by its age as well as by the server that is
// stopped. SETTINGS are the first frame that a server sends, RFC 9113 section 3.4.
func TestLeaveBeforeStart(t *testing.T) {
	drain, farewell := []string{"GOAWAY 2147483647 NO_ERROR", "PING drain"}, []string{"GOAWAY 0 NO_ERROR", "EOF"}
	for _, tt := range []struct {
		name  string
		early func(*Conn)
		want  []string // after SETTINGS
	}{
		{"drain", func(c *Conn) { c.Drain(frame.NoError, "bye"); c.Drain(frame.NoError, "again") }, drain},
		{"drain, late", func(c *Conn) { c.Drain(frame.NoError, "bye"); c.drainLate() }, drain},
		{"retire", (*Conn).Retire, farewell},
		{"drain and retire", func(c *Conn) { c.Retire(); c.Drain(frame.NoError, "") }, slices.Concat(drain, farewell)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := newPeer(t, protocol.Server, peerConfig{raw: true, early: tt.early})
				p.settle()
				got := p.frames()
				if len(got) == 0 || !strings.HasPrefix(got[0], "SETTINGS") {
					t.Fatalf("the connection begins with %q", got)
				}
				got = slices.DeleteFunc(got[1:], func(f string) bool { return strings.HasPrefix(f, "WINDOW_UPDATE") })
				if !slices.Equal(got, tt.want) {
					t.Errorf("after SETTINGS: %q, want %q", got, tt.want)
				}
				if slices.Contains(tt.want, "EOF") {
					return
				}
				time.Sleep(drainPatience) // the client does not answer the PING
				p.want("GOAWAY 0 NO_ERROR", "EOF")
			})
		})
	}
}

// A client that still reads what we sent is not hung up on, for a while.
func TestPartingExtended(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t, protocol.Server, peerConfig{})
		p.conn.Retire()
		p.want("GOAWAY 0 NO_ERROR", "EOF")
		for range partingPatience {
			p.send(window(0, 1))
			time.Sleep(lastFlush)
			p.wantTold()
		}
		p.send(window(0, 1))
		time.Sleep(lastFlush)
		p.wantTold("closed: " + protocol.ErrDrained.Error())
	})
}

// A client that takes no streams of the server's may still open its own: GOAWAY is about
// streams that its receiver opens, RFC 9113 section 6.8.
func TestGoAwayOfClient(t *testing.T) {
	for _, code := range []http2.ErrCode{http2.ErrCodeNo, http2.ErrCodeEnhanceYourCalm} {
		bubble(t, func(t *testing.T) {
			p := newPeer(t, protocol.Server, peerConfig{accept: func(s *testStream, _ *protocol.HeaderBlock) error {
				s.opened = func(bool) { s.Send(protocol.Frames{Headers: response, End: true}) }
				return nil
			}})
			p.send(goAway(0, code, ""))
			p.send(p.request(1, true))
			p.want("HEADERS 1 end :status=200")
			p.send(p.request(3, true))
			p.want("HEADERS 3 end :status=200")
			p.nc.CloseWrite()
			p.want("EOF")
		})
	}
}

func TestRetire(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t, protocol.Client, peerConfig{})
		s := p.open(protocol.Frames{End: true})
		p.conn.Retire()
		if err := p.conn.Open(&new(testStream).Stream, protocol.Frames{Headers: request}, nil); err != protocol.ErrDraining {
			t.Errorf("Open: %v", err)
		}
		p.want("HEADERS 1 end :method=POST :path=/x")
		p.send(p.headers(s.ID(), true, response...))
		p.want("GOAWAY 0 NO_ERROR", "EOF")
		p.wantTold("headers 1 :status=200 end", "closed: "+protocol.ErrDrained.Error())
	})
	bubble(t, func(t *testing.T) {
		p := newPeer(t, protocol.Client, peerConfig{})
		p.conn.Retire()
		p.want("GOAWAY 0 NO_ERROR", "EOF")
		p.wantTold("closed: " + protocol.ErrDrained.Error())
		p.conn.Retire()
	})
}

// The owner hears of GOAWAY before the streams that it ends, and they know that
// nothing was done for them.
func TestGoAwayReceived(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t, protocol.Client, peerConfig{})
		p.open(protocol.Frames{End: true})
		p.open(protocol.Frames{End: true})
		p.frames()
		p.send(goAway(1<<31-1, 0, "soon"))
		p.wantTold(`goaway NO_ERROR "soon"`)
		// "Receivers of a GOAWAY frame MUST NOT open additional streams", section 6.8.
		if err := p.conn.Open(&new(testStream).Stream, protocol.Frames{Headers: request}, nil); err != protocol.ErrDraining {
			t.Errorf("Open: %v", err)
		}
		p.send(goAway(1, 0, "now"))
		p.wantTold(`goaway NO_ERROR "now"`, "abort 3 stream error REFUSED_STREAM: the peer went away unprocessed")
		p.send(p.headers(1, true, response...))
		p.want("GOAWAY 0 NO_ERROR", "EOF")
		p.wantTold("headers 1 :status=200 end", "closed: "+protocol.ErrDrained.Error())
	})
}

// What the peer complained of is what the streams are told, however the
// connection then ends.
func TestGoAwayIsTheCause(t *testing.T) {
	const told = `peer closed the connection with GOAWAY: ENHANCE_YOUR_CALM, debug data: "too_many_pings"`
	ends := map[string]func(p *testPeer){
		"end":   func(p *testPeer) { p.nc.Close() },
		"reset": func(p *testPeer) { p.nc.fail(errors.New("connection reset")) },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := newPeer(t, protocol.Client, peerConfig{})
				p.open(protocol.Frames{})
				p.send(goAway(1, http2.ErrCodeEnhanceYourCalm, "too_many_pings"))
				end(p)
				p.wantTold(`goaway ENHANCE_YOUR_CALM "too_many_pings"`, "closed: "+told, "abort 1 "+told)
			})
		})
	}
	t.Run("found after a failed write", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			p := newPeer(t, protocol.Client, peerConfig{})
			s := p.open(protocol.Frames{})
			p.self.out.set(func() { p.self.out.refused = true })
			s.Send(message("x"))
			p.send(goAway(1, http2.ErrCodeEnhanceYourCalm, "too_many_pings"))
			p.nc.CloseWrite()
			p.wantTold(`goaway ENHANCE_YOUR_CALM "too_many_pings"`, "closed: "+told, "abort 1 "+told)
		})
	})
}

func TestWriteError(t *testing.T) {
	for _, plain := range []bool{false, true} {
		bubble(t, func(t *testing.T) {
			p := newPeer(t, protocol.Client, peerConfig{plain: plain})
			s := p.open(protocol.Frames{})
			p.self.out.set(func() { p.self.out.broken = errors.New("no route") })
			s.Send(message("x"))
			synctest.Wait()
			if err := p.conn.Open(&new(testStream).Stream, protocol.Frames{Headers: request}, nil); err != protocol.ErrDraining {
				t.Errorf("Open: %v", err)
			}
			s.Send(message("x"))
			s.Reset(frame.Cancel)
			p.wantTold()
			time.Sleep(lastFlush)
			p.wantTold("closed: error writing: no route")
		})
	}
}

// TestWriteErrorBeforeEnd expects the text of the error of reading, and both errors: it is chance whether a write is the
// first to fail.
func TestWriteErrorBeforeEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newPeer(t, protocol.Client, peerConfig{})
		s := p.open(protocol.Frames{})
		broken := errors.New("broken pipe")
		p.self.out.set(func() { p.self.out.broken = broken })
		s.Send(message("x"))
		synctest.Wait()
		p.nc.CloseWrite()
		p.wantTold("closed: error reading: EOF", "abort 1 error reading: EOF")
		if err := s.abort.Cause; !errors.Is(err, io.EOF) || !errors.Is(err, broken) {
			t.Errorf("the cause %v has not both errors", err)
		}
	})
}

// TestHandlerEndsGoroutine has a handler that calls runtime.Goexit: streams are told all the same.
func TestHandlerEndsGoroutine(t *testing.T) {
	for name, tt := range map[string]struct {
		do   func(p *testPeer)
		want []string
	}{
		"GOAWAY": {
			func(p *testPeer) { p.send(goAway(1, http2.ErrCodeNo, "")) },
			[]string{`goaway NO_ERROR ""`, "closed: error reading: " + ErrReaderLeft.Error(), "abort 1 error reading: " + ErrReaderLeft.Error()},
		},
		"end": {
			func(p *testPeer) { p.nc.Close() },
			[]string{"closed: error reading: EOF", "abort 1 error reading: EOF"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := newPeer(t, protocol.Client, peerConfig{})
				p.open(protocol.Frames{})
				p.role.exits = true
				tt.do(p)
				p.wantTold(tt.want...)
			})
		})
	}
}

func TestReadErrors(t *testing.T) {
	tests := []struct {
		name string
		do   func(p *testPeer)
		want string
	}{
		{"end", func(p *testPeer) { p.nc.Close() }, "error reading: EOF"},
		{"end within a header", func(p *testPeer) { p.send([]byte{0, 0}); p.nc.Close() }, "error reading: unexpected EOF"},
		{"end within a payload", func(p *testPeer) { p.send(ping("12345678")[:12]); p.nc.Close() }, "error reading: unexpected EOF"},
		{"end within a body", func(p *testPeer) { p.send(data(1, "12345678", false)[:12]); p.nc.Close() }, "error reading: unexpected EOF"},
		{"end within padding", func(p *testPeer) {
			p.send(raw(fData, 8, 1, make([]byte, 1))[:9])
			p.nc.Close()
		}, "error reading: unexpected EOF"},
		{"end within an unknown frame", func(p *testPeer) { p.send(raw(0x50, 0, 1, make([]byte, 9))[:12]); p.nc.Close() }, "error reading: unexpected EOF"},
		{"error", func(p *testPeer) { p.nc.fail(errors.New("reset")) }, "error reading: reset"},
		{"Close", func(p *testPeer) { p.conn.Close(nil) }, "connection closed"},
		{"Close with a reason", func(p *testPeer) { p.conn.Close(errors.New("enough")) }, "enough"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := newPeer(t, protocol.Client, peerConfig{})
				p.open(protocol.Frames{})
				tt.do(p)
				p.wantTold("closed: "+tt.want, "abort 1 "+tt.want)
				if p.conn.Cause() == nil || p.conn.Cause().Error() != tt.want {
					t.Errorf("cause %v", p.conn.Cause())
				}
			})
		})
	}
}

// TestPrefaceOfDeafConn: nor does one that says nothing over a socket whose wrapper's deadlines have no effect.
func TestPrefaceOfDeafConn(t *testing.T) {
	nc, ns := socketPair(t, "tcp", 0)
	role := new(testRole)
	c := New(deafConn{ns}, protocol.Server, &protocol.Config{Pool: mem.DefaultBufferPool(), Pooled: true, PrefaceTimeout: time.Nanosecond}, role)
	c.Start()
	defer c.Close(nil)
	if n, err := io.Copy(io.Discard, nc); err != nil || n == 0 {
		t.Errorf("%d bytes, %v", n, err)
	}
}

func TestPreface(t *testing.T) {
	bubble(t, func(t *testing.T) { // not a word
		p := newPeer(t, protocol.Server, peerConfig{raw: true, Config: protocol.Config{PrefaceTimeout: time.Second}})
		p.want("SETTINGS")
		time.Sleep(time.Second)
		p.want("EOF")
		p.wantTold("closed: error reading: i/o timeout")
	})
	bubble(t, func(t *testing.T) { // the preface and nothing else
		p := newPeer(t, protocol.Server, peerConfig{raw: true, Config: protocol.Config{PrefaceTimeout: time.Second}})
		p.send([]byte(http2.ClientPreface))
		time.Sleep(time.Second)
		p.wantTold("closed: error reading: i/o timeout")
	})
	for _, timeout := range []time.Duration{time.Second, 2 * time.Minute} { // where deadlines have no effect
		bubble(t, func(t *testing.T) {
			deaf := func(c *Conn) {
				in := c.wire.Conn.(plainConn).Conn.(*memConn).in
				in.set(func() { in.deaf = true })
			}
			p := newPeer(t, protocol.Server, peerConfig{raw: true, plain: true, early: deaf, Config: protocol.Config{PrefaceTimeout: timeout}})
			p.send([]byte(http2.ClientPreface))
			time.Sleep(timeout)
			p.wantTold()
			time.Sleep(lastFlush)
			p.wantTold("closed: error reading: i/o timeout")
		})
	}
	for _, timeout := range []time.Duration{time.Second, math.MaxInt64} {
		for _, plain := range []bool{false, true} {
			bubble(t, func(t *testing.T) { // in time
				p := newPeer(t, protocol.Server, peerConfig{plain: plain, Config: protocol.Config{PrefaceTimeout: timeout}})
				time.Sleep(time.Hour)
				p.send(ping("12345678"))
				p.want("PING ack 12345678")
			})
			bubble(t, func(t *testing.T) { // not late for any limit
				p := newPeer(t, protocol.Server, peerConfig{raw: true, plain: plain, Config: protocol.Config{PrefaceTimeout: max(timeout, time.Hour)}})
				time.Sleep(time.Minute)
				p.wantTold()
			})
		}
	}
	for _, hello := range []string{"GET / HTTP/1.0\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n", "\x16\x03\x01\x02\x00\x01\x00"} {
		bubble(t, func(t *testing.T) {
			p := newPeer(t, protocol.Server, peerConfig{raw: true})
			p.send([]byte(hello))
			p.want("SETTINGS", "GOAWAY 0 PROTOCOL_ERROR", "EOF")
		})
	}
	for _, side := range []protocol.Side{protocol.Client, protocol.Server} {
		for name, first := range map[string][]byte{
			"PING": ping("12345678"), "ack": raw(fSettings, 1, 0, nil), "unknown": raw(0x50, 0, 0, nil),
			"DATA": data(1, "x", false), "GOAWAY": goAway(0, 0, ""),
		} {
			bubble(t, func(t *testing.T) {
				p := newPeer(t, side, peerConfig{raw: true})
				if side == protocol.Server {
					p.send([]byte(http2.ClientPreface))
				} else {
					p.wantPreface()
				}
				p.send(first)
				if got := p.frames(); len(got) != 3 || got[1] != "GOAWAY 0 PROTOCOL_ERROR" {
					t.Errorf("%s first: %q", name, got)
				}
			})
		}
	}
}

func TestLocalSettings(t *testing.T) {
	table := uint32(0)
	full := protocol.Config{
		StreamWindow: 1 << 20, ConnWindow: 1 << 21, MaxStreams: 7, MaxHeaderList: 100, HeaderTable: &table,
		Pool: mem.DefaultBufferPool(),
	}
	for _, tt := range []struct {
		side protocol.Side
		cfg  protocol.Config
		want string
	}{
		{protocol.Client, protocol.Config{}, "SETTINGS ENABLE_PUSH=0"},
		{protocol.Server, protocol.Config{}, "SETTINGS"},
		{protocol.Server, full, "SETTINGS MAX_CONCURRENT_STREAMS=7 INITIAL_WINDOW_SIZE=1048576 MAX_HEADER_LIST_SIZE=100 HEADER_TABLE_SIZE=0; WINDOW 0 2031617"},
	} {
		bubble(t, func(t *testing.T) {
			p := newPeer(t, tt.side, peerConfig{raw: true, Config: tt.cfg})
			p.settle()
			if tt.side == protocol.Client {
				p.wantPreface()
			}
			if got := strings.Join(p.frames(), "; "); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// TestHeaderTableSetting: a lower table size of ours binds a server from its acknowledgement on, RFC 9113 section
// 4.3.1. A client may have acknowledged somebody else's SETTINGS, and still use the table that it has by default.
func TestHeaderTableSetting(t *testing.T) {
	for _, side := range []protocol.Side{protocol.Server, protocol.Client} {
		for _, updates := range []bool{false, true} {
			t.Run(fmt.Sprintf("side %d, updates %v", side, updates), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					table := uint32(0)
					p := newPeer(t, side, peerConfig{Config: protocol.Config{HeaderTable: &table}})
					if side == protocol.Client {
						p.open(protocol.Frames{End: true})
						p.frames()
					}
					if updates {
						p.enc.SetMaxDynamicTableSize(0)
					}
					p.send(p.request(1, true))
					switch {
					case side == protocol.Client && !updates:
						p.want(broken("0", "COMPRESSION_ERROR")...)
					case side == protocol.Client:
						p.wantTold("headers 1 :method=POST :path=/x end")
					default:
						p.wantTold("opened 1 :method=POST :path=/x end")
						p.send(p.request(3, true)) // it names what the table has, if there is one
						p.wantTold("opened 3 :method=POST :path=/x end")
					}
				})
			})
		}
	}
}

func TestCloseBeforeStart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		self, nc := memPipe(1 << 16)
		role := &testRole{}
		c := New(self, protocol.Client, &protocol.Config{Pool: mem.DefaultBufferPool()}, role)
		c.Close(errors.New("enough"))
		c.Start()
		c.Close(nil)
		synctest.Wait()
		same(t, "told", role.take(), []string{"closed: enough"})
		if b, err := io.ReadAll(nc); len(b) != 0 || err != nil {
			t.Errorf("peer got %q, %v", b, err)
		}
	})
}

// Whoever ends a connection, and however many do at once: everyone is told
// once, the owner first, nothing is lent any more.
func TestCloseRaces(t *testing.T) {
	for round := range 50 {
		self, nc := net.Pipe()
		role := &testRole{greedy: true}
		c := New(self, protocol.Client, &protocol.Config{Pool: mem.DefaultBufferPool()}, role)
		c.Start()
		go func() {
			f := http2.NewFramer(nc, nc)
			nc.Read(make([]byte, len(http2.ClientPreface)))
			go f.WriteSettings()
			for {
				if _, err := f.ReadFrame(); err != nil {
					return
				}
			}
		}()
		var wg sync.WaitGroup
		opened := make(chan *testStream, 8)
		for range cap(opened) {
			wg.Go(func() {
				s := newTestStream(role)
				f := message("hello")
				f.Headers = request
				if err := c.Open(&s.Stream, f, nil); err == nil {
					opened <- s
					s.Send(message("world"))
				}
			})
		}
		wg.Go(func() { c.Close(errors.New("one")) })
		wg.Go(func() { c.Close(errors.New("other")) })
		wg.Go(func() { nc.Close() })
		if round%2 == 0 {
			wg.Go(func() { c.Drain(frame.NoError, "") })
			wg.Go(c.Retire)
		}
		wg.Wait()
		var l []string
		for deadline := time.Now().Add(10 * time.Second); ; { // the reader tells them
			role.mu.Lock()
			l = slices.DeleteFunc(slices.Clone(role.lines), func(s string) bool { return s == "ready" })
			role.mu.Unlock()
			if len(l) >= len(opened)+1 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%d streams were opened, told %q", len(opened), l)
			}
			<-time.After(100 * time.Microsecond)
		}
		closed := 0
		for i, line := range l {
			switch {
			case strings.HasPrefix(line, "closed"):
				closed++
			case strings.HasPrefix(line, "abort") && closed == 0, strings.HasPrefix(line, "aborted twice"), closed > 1:
				t.Fatalf("line %d of %q", i, l)
			}
		}
	}
}
