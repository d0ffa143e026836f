// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/internal/park"
	"google.golang.org/grpc/internal/transport/h2/frame"
	"google.golang.org/grpc/internal/transport/h2/protocol"
	"google.golang.org/grpc/mem"
)

// listener waits for the body of a stream as package transport does: it reads the connection
// itself, if it can.
type listener struct {
	s *testStream

	mu   sync.Mutex
	got  int                 // bytes, and
	over bool                // the end, that are there
	who  interface{ Wake() } // nil: nobody waits

	bell   bell                         // who, where it has no inline reader
	reads  atomic.Pointer[InlineReader] // what it reads with
	act    atomic.Pointer[active]       // of that, or the last one
	inline atomic.Int64                 // how many it had
	heard  chan int                     // got, after each wait
	busy   sync.Mutex                   // whoever has it keeps it from waiting again
}

type bell chan struct{}

func (b bell) Wake() { b <- struct{}{} }

func listenTo(s *testStream) *listener {
	l := &listener{s: s, bell: make(bell, 1), heard: make(chan int, 1<<16)}
	s.filled = func(n int) error {
		if l.arrived(n, false) {
			s.Lend()
		}
		return nil
	}
	s.done = func() { l.arrived(0, true) }
	s.opened = func(bool) { go l.run() }
	return l
}

// arrived is for what the reader brings. It reports whether it has woken who waits.
func (l *listener) arrived(n int, over bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.got, l.over = l.got+n, l.over || over
	return l.wake()
}

func (l *listener) wake() bool {
	if l.who == nil {
		return false
	}
	l.who.Wake()
	l.who = nil
	return true
}

// cancel wakes who waits, for nothing that arrived.
func (l *listener) cancel() {
	l.mu.Lock()
	l.wake()
	l.mu.Unlock()
}

// run waits for one thing after the other, and is over with the stream.
func (l *listener) run() {
	defer close(l.heard)
	for seen := 0; ; {
		l.mu.Lock()
		if l.got == seen && !l.over {
			l.who = l.bell
			l.mu.Unlock()
			if !l.read() {
				<-l.bell
			}
			l.mu.Lock()
		}
		seen = l.got
		over := l.over
		l.mu.Unlock()
		select {
		case l.heard <- seen:
		default:
		}
		if over {
			return
		}
		l.busy.Lock()
		l.busy.Unlock() //nolint:staticcheck // it is to wait
	}
}

// read is what body.read of package transport is.
func (l *listener) read() (woken bool) {
	t := l.s.InlineReader()
	if t == nil {
		return false
	}
	l.mu.Lock()
	if l.who == nil {
		l.mu.Unlock()
		t.Leave(nil)
		return false
	}
	l.who = t
	l.mu.Unlock()
	l.inline.Add(1)
	l.act.Store(t.in.act)
	l.reads.Store(t)
	err := t.Read()
	l.reads.Store(nil)
	l.mu.Lock()
	if woken = l.who == nil; !woken {
		l.who = l.bell
	}
	l.mu.Unlock()
	t.Leave(err)
	return woken
}

// waits reports whether it waits for input as the reader.
func (l *listener) waits() bool {
	t := l.reads.Load()
	return t != nil && (*Conn)(t).whoReads() == inlineWaits
}

// inlinePeer is a client of raw frames over a real socket, with stream 1 open, and a listener at the
// server's end of it.
type inlinePeer struct {
	*testing.T
	nc     net.Conn
	role   *testRole
	c      *Conn
	enc    *testPeer
	l      *listener
	sent   int // bytes of stream 1
	frames journal
}

// startInline begins with what the listener has to have seen for there to be an inline reader.
func startInline(t *testing.T, cfg protocol.Config, role *testRole, handler Handler) *inlinePeer {
	t.Helper()
	return startInlineOver(t, func(nc net.Conn) net.Conn { return nc }, cfg, role, handler)
}

// startInlineOver is startInline over what wrap makes of the server's socket.
func startInlineOver(t *testing.T, wrap func(net.Conn) net.Conn, cfg protocol.Config, role *testRole, handler Handler) *inlinePeer {
	t.Helper()
	if !park.Supported() || !(*park.Ground)(nil).Takes() {
		t.Skip("here a goroutine reads for those who wait")
	}
	nc, ns := socketPair(t, "tcp", 0)
	p := &inlinePeer{T: t, nc: nc, role: role, enc: &testPeer{t: t}}
	p.enc.enc = newPeerEncoder(p.enc)
	listeners := make(chan *listener, 1)
	role.accept = func(s *testStream, _ *protocol.HeaderBlock) error {
		select {
		case listeners <- listenTo(s):
		default: // another stream
		}
		return nil
	}
	cfg.Pool, cfg.Pooled = mem.DefaultBufferPool(), true
	p.c = New(wrap(ns), protocol.Server, &cfg, handler)
	p.c.Start()
	p.write(join([]byte(http2.ClientPreface), settings(), raw(fSettings, 1, 0, nil), p.enc.request(1, false)))
	p.l = <-listeners
	read := make(chan struct{})
	go p.read(read)
	t.Cleanup(func() {
		p.c.Close(errors.New("test over"))
		nc.Close()
		<-read
		p.l.arrived(0, true)  // a stream that we ended is not told
		for range p.l.heard { // to its end
		}
		until(t, "the end", func() bool {
			return slices.ContainsFunc(role.take(), func(l string) bool { return strings.HasPrefix(l, "closed") })
		})
	})
	return p
}

// read writes down the frames that arrive. It writes none, which could come between pieces of others.
func (p *inlinePeer) read(done chan struct{}) {
	defer close(done)
	in := bufio.NewReader(p.nc)
	for {
		var head [frame.HeaderLen]byte
		if _, err := io.ReadFull(in, head[:]); err != nil {
			p.frames.add("EOF")
			return
		}
		h := frame.ParseHeader(head[:])
		b := make([]byte, h.Length)
		if _, err := io.ReadFull(in, b); err != nil {
			return
		}
		ack := h.Flags.Has(frame.FlagAck)
		p.frames.add("%v %d ack=%v %x", h.Type, h.StreamID, ack, b)
	}
}

func (p *inlinePeer) write(b []byte) {
	p.Helper()
	if _, err := p.nc.Write(b); err != nil {
		p.Log(err)
	}
}

// say sends n bytes of stream 1 in a frame, and waits until they were heard.
func (p *inlinePeer) say(n int) {
	p.Helper()
	p.sent += n
	p.write(data(1, strings.Repeat("x", n), false))
	p.hear()
}

// hear waits until all that was sent was heard.
func (p *inlinePeer) hear() {
	p.Helper()
	late := time.After(patience)
	for {
		select {
		case got, ok := <-p.l.heard:
			if !ok {
				p.Fatal("the stream is over")
			}
			if got == p.sent {
				return
			}
		case <-late:
			p.Fatalf("not heard within %v: %d bytes", patience, p.sent)
		}
	}
}

// toInline makes the listener wait as the reader.
func (p *inlinePeer) toInline() {
	p.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		p.say(1)
		// A role that is lent is waited for: another message before somebody has come would have been
		// lent in vain, and the more often, the longer nothing is lent.
		for i := 0; i < 20 || p.lent() && time.Now().Before(deadline); i++ {
			if p.l.waits() {
				return
			}
			<-time.After(100 * time.Microsecond)
		}
	}
	p.Fatal("there is no inline reader")
}

// lent reports whether the reader's role is lent, and nobody has taken it.
func (p *inlinePeer) lent() bool {
	return p.c.whoReads() == lent
}

// sees waits for a frame with this at its beginning.
func (p *inlinePeer) sees(begin string) { p.seesTimes(1, begin) }

// seesTimes waits for n such frames.
func (p *inlinePeer) seesTimes(n int, begin string) {
	p.Helper()
	until(p.T, begin, func() bool {
		p.frames.mu.Lock()
		defer p.frames.mu.Unlock()
		seen := 0
		for _, l := range p.frames.lines {
			if strings.HasPrefix(l, begin) {
				seen++
			}
		}
		return seen >= n
	})
}

func (p *inlinePeer) told(line string) {
	p.Helper()
	until(p.T, line, func() bool { return p.role.told(line) })
}

// rests waits until the connection is parked with nothing left that only reading needs.
func (p *inlinePeer) rests() {
	p.Helper()
	until(p.T, "parked for good", func() bool {
		return p.c.whoReads() == away && p.c.handle.Parked()
	})
}

// sweep is what the sweeper does with a connection whose listener has, or had, the inline reader.
func (p *inlinePeer) sweep() {
	(*park.Ground)(nil).Sweeper().Remove(&p.l.act.Load().entry)
	(*sweptConn)(p.c).Quiet()
}

var eightBytes = make([]byte, 8)

// deafConn takes read deadlines that have no effect.
type deafConn struct{ net.Conn }

func (deafConn) SetReadDeadline(time.Time) error { return nil }

// TestNoInlineReaderOfDeafConn: who waits for a message does not read where it can't be interrupted.
func TestNoInlineReaderOfDeafConn(t *testing.T) {
	role := new(testRole)
	p := startInlineOver(t, func(nc net.Conn) net.Conn { return deafConn{nc} }, protocol.Config{}, role, role)
	for range 300 {
		p.say(1)
	}
	if n := p.l.inline.Load(); n != 0 {
		t.Errorf("%d times", n)
	}
}

// slowClose is closed when may is.
type slowClose struct {
	net.Conn
	may    chan struct{}
	closes *atomic.Int64
}

func (c slowClose) Close() error { c.closes.Add(1); <-c.may; return c.Conn.Close() }

// TestEndBeforeClose: streams of a parked connection do not wait for what closing it waits for.
func TestEndBeforeClose(t *testing.T) {
	role, may, closes := new(testRole), make(chan struct{}), new(atomic.Int64)
	p := startInlineOver(t, func(nc net.Conn) net.Conn { return slowClose{nc, may, closes} }, protocol.Config{}, role, role)
	p.say(1)
	p.rests()
	closed := make(chan struct{})
	go func() {
		p.c.Close(errors.New("over"))
		close(closed)
	}()
	p.told("closed: over") // before may is closed
	close(may)
	<-closed
	p.sees("EOF")
	if n := closes.Load(); n != 1 {
		t.Errorf("it was closed %d times", n)
	}
}

// TestInlineReaderHeeds: whatever comes while an InlineReader waits for input is dealt with, by whomever.
func TestInlineReaderHeeds(t *testing.T) {
	for name, tt := range map[string]struct {
		cfg protocol.Config
		f   func(p *inlinePeer)
	}{
		"ping": {f: func(p *inlinePeer) {
			for n := 1; ; n++ {
				read, begun := p.l.reads.Load(), time.Now()
				p.write(raw(http2.FramePing, 0, 0, eightBytes))
				p.seesTimes(n, "PING 0 ack=true")
				kept := func() bool { return p.l.waits() && p.l.reads.Load() == read }
				until(p.T, "the same inline reader to wait", func() bool { return kept() || time.Since(begun) > park.Linger/2 })
				if kept() {
					return
				}
				if n == 100 {
					p.Fatal("it gives up its inline reader")
				}
				p.toInline() // the sweeper may have taken it
			}
		}},
		"many pings, which are not read": {f: func(p *inlinePeer) {
			for range 3 * protocol.MaxReplies {
				p.write(raw(http2.FramePing, 0, 0, eightBytes))
			}
			p.write(raw(http2.FramePing, 0, 0, []byte("the last")))
			p.sees(fmt.Sprintf("PING 0 ack=true %x", "the last"))
		}},
		"settings": {f: func(p *inlinePeer) {
			p.write(settings(uint32(http2.SettingInitialWindowSize), 1000))
			until(p.T, "a second acknowledgement", func() bool {
				p.frames.mu.Lock()
				defer p.frames.mu.Unlock()
				n := 0
				for _, l := range p.frames.lines {
					if strings.HasPrefix(l, "SETTINGS 0 ack=true") {
						n++
					}
				}
				return n == 2
			})
		}},
		"another stream": {f: func(p *inlinePeer) {
			p.write(join(p.enc.request(3, false), data(3, "beside", false)))
			p.told("opened 3 :method=POST :path=/x")
			until(p.T, "its body", func() bool { return p.role.stream(3).received() == "beside" })
			p.say(1)
			p.write(data(3, " it", true))
			p.told("end 3")
		}},
		"a field block in pieces, with the sweeper between": {f: func(p *inlinePeer) {
			b := p.enc.fieldBlock(request...)
			p.write(raw(fHeaders, 1, 3, b[:1]))
			p.sweep()
			p.write(raw(fContinuation, 4, 3, b[1:]))
			p.told("opened 3 :method=POST :path=/x end")
		}},
		"a window": {cfg: protocol.Config{}, f: func(p *inlinePeer) {
			f := message(strings.Repeat("y", 100<<10))
			f.Headers = response
			if err := p.l.s.Send(f); err != nil {
				p.Error(err)
			}
			p.write(join(window(0, 1<<20), window(1, 1<<20)))
			until(p.T, "all of a message", func() bool {
				p.frames.mu.Lock()
				defer p.frames.mu.Unlock()
				n := 0
				for _, l := range p.frames.lines {
					if rest, ok := strings.CutPrefix(l, "DATA 1 ack=false "); ok {
						n += len(rest) / 2
					}
				}
				return n == 100<<10+5
			})
		}},
		"half a frame for long, and the rest": {f: func(p *inlinePeer) {
			b := data(1, strings.Repeat("x", 1000), false)
			p.write(b[:500])
			for range 3 {
				p.sweep()
				until(p.T, "the reader's answer", func() bool { return !p.c.quiet.Load() })
			}
			p.write(b[500:])
			p.sent += 1000
			p.hear()
		}},
		"half a header, and cancelled": {f: func(p *inlinePeer) {
			b := data(1, "abc", false)
			p.write(b[:5])
			p.l.cancel()
			p.hearAnything()
			p.write(b[5:])
			p.sent += 3
			p.hear()
		}},
		"cancelled": {f: func(p *inlinePeer) {
			p.l.cancel()
			p.hearAnything()
			p.say(1)
		}},
		"quiet": {f: func(p *inlinePeer) {
			p.rests() // the sweeper's doing
			p.say(1)
		}},
		"cancelled and quiet": {f: func(p *inlinePeer) {
			p.sweep()
			p.l.cancel()
			p.hearAnything()
			p.rests()
			p.say(1)
		}},
		"reset": {f: func(p *inlinePeer) {
			p.write(rst(1, http2.ErrCodeCancel))
			p.overWith("abort 1 ")
		}},
		"the stream's end": {f: func(p *inlinePeer) {
			p.write(data(1, "", true))
			p.told("end 1")
		}},
		"goaway": {f: func(p *inlinePeer) {
			p.write(goAway(0, http2.ErrCodeNo, "bye"))
			p.told(`goaway NO_ERROR "bye"`)
			p.say(1)
		}},
		"a rule broken by the stream": {f: func(p *inlinePeer) {
			p.write(window(1, 0))
			p.sees("RST_STREAM 1")
			p.overWith("abort 1 ")
		}},
		"a rule broken by the connection": {f: func(p *inlinePeer) {
			p.write(data(5, "idle", false))
			p.sees("GOAWAY 0")
			p.overWith("abort 1 ")
		}},
		"a frame of any kind": {f: func(p *inlinePeer) {
			p.write(raw(0x77, 0, 1, []byte("unknown")))
			p.say(1)
		}},
		"padding only": {f: func(p *inlinePeer) {
			p.write(raw(http2.FrameData, http2.FlagDataPadded, 1, append([]byte{100}, make([]byte, 100)...)))
			p.say(1)
		}},
		"a frame too long for a inline reader": {f: func(p *inlinePeer) { p.say(10_000) }},
		"closed": {f: func(p *inlinePeer) {
			p.c.Close(errors.New("enough"))
			p.told("closed: enough")
			p.overWith("abort 1 enough")
		}},
		"closed by the peer": {f: func(p *inlinePeer) {
			p.nc.Close()
			p.overWith("abort 1 ")
		}},
		"drained": {f: func(p *inlinePeer) {
			p.c.Drain(frame.NoError, "later")
			p.sees("GOAWAY 0 ack=false 7fffffff")
			p.write(raw(http2.FramePing, http2.FlagPingAck, 0, protocol.DrainPing[:]))
			p.sees("GOAWAY 0 ack=false 00000001")
			p.say(1)
			p.write(data(1, "", true))
			p.told("end 1")
			if err := p.l.s.Send(protocol.Frames{Headers: response, Trailers: trailers}); err != nil {
				p.Error(err)
			}
			p.nc.(*net.TCPConn).CloseWrite()
			p.sees("EOF")
		}},
		"keepalive, which the peer answers": {cfg: protocol.Config{Keepalive: protocol.Keepalive{Interval: 200 * time.Millisecond, Timeout: 5 * time.Second}}, f: func(p *inlinePeer) {
			for n := range 3 {
				p.seesTimes(n+1, fmt.Sprintf("PING 0 ack=false %x", protocol.AlivePing))
				p.write(raw(http2.FramePing, http2.FlagPingAck, 0, protocol.AlivePing[:]))
			}
			p.say(1)
		}},
		"keepalive, which it does not": {cfg: protocol.Config{Keepalive: protocol.Keepalive{Interval: 2 * time.Second, Timeout: 20 * time.Millisecond}}, f: func(p *inlinePeer) {
			p.overWith("abort 1 ")
			p.told("closed: " + p.c.Cause().Error())
		}},
	} {
		t.Run(name, func(t *testing.T) {
			role := &testRole{greedy: true}
			p := startInline(t, tt.cfg, role, role)
			p.toInline()
			tt.f(p)
		})
	}
}

// hearAnything waits for the end of a wait.
func (p *inlinePeer) hearAnything() {
	p.Helper()
	select {
	case <-p.l.heard:
	case <-time.After(patience):
		p.Fatal("nothing was heard")
	}
}

// overWith waits until stream 1 was told so, and the listener is over.
func (p *inlinePeer) overWith(begin string) {
	p.Helper()
	until(p.T, begin, func() bool {
		p.role.mu.Lock()
		defer p.role.mu.Unlock()
		return slices.ContainsFunc(p.role.lines, func(l string) bool { return strings.HasPrefix(l, begin) })
	})
	until(p.T, "the listener's end", func() bool {
		p.l.mu.Lock()
		defer p.l.mu.Unlock()
		return p.l.over && p.l.who == nil
	})
}

// sweeping is a role whose connection the sweeper finds quiet in the middle of a batch.
type sweeping struct {
	*testRole
	c    **Conn
	next atomic.Bool
}

func (r *sweeping) BatchEnd() {
	if r.next.Swap(false) {
		(*park.Ground)(nil).Sweeper().Remove(&(*r.c).in.act.entry) // as the sweeper does
		(*sweptConn)(*r.c).Quiet()
	}
	r.testRole.BatchEnd()
}

// TestLentWithoutSweeper: the sweeper looks at a connection once. If that is while its reader
// works, the reader does not lend what nobody would have given back.
func TestLentWithoutSweeper(t *testing.T) {
	var c *Conn
	role := &testRole{}
	h := &sweeping{testRole: role, c: &c}
	p := startInline(t, protocol.Config{}, role, h)
	c = p.c
	for range 2 {
		p.toInline()
		func() {
			p.l.busy.Lock()
			defer p.l.busy.Unlock()
			h.next.Store(true)
			p.say(1)
			p.rests()
		}()
		p.say(1)
	}
}

// TestInlineReaderAndAll is a connection with one stream, mostly, on which all comes at any time, in
// pieces of any size: what arrives is heard, what asks for an answer has one.
func TestInlineReaderAndAll(t *testing.T) {
	rounds := 3000
	if testing.Short() || raceEnabled {
		rounds = 600
	}
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			role := &testRole{greedy: true}
			p := startInline(t, protocol.Config{}, role, role)
			rng := rand.New(rand.NewPCG(seed, 7))
			p.toInline()
			stop := make(chan struct{})
			var beside sync.WaitGroup
			beside.Go(func() { p.disturb(stop, rand.New(rand.NewPCG(seed, 8))) })
			id, asked := uint32(3), uint64(0)
			for range rounds {
				var b []byte
				for range 1 + rng.IntN(2) {
					switch rng.IntN(100) {
					case 0:
						b = append(b, settings()...)
					case 1:
						b = join(b, p.enc.request(id, false), data(id, "other", true), rst(id, http2.ErrCodeCancel))
						id += 2
					case 2:
						n := rng.IntN(40_000)
						p.sent += n
						for ; n > 0; n -= min(n, 16<<10) {
							b = append(b, data(1, strings.Repeat("x", min(n, 16<<10)), false)...)
						}
					case 3, 4, 5, 6:
						asked++
						b = append(b, raw(http2.FramePing, 0, 0, binary.BigEndian.AppendUint64(nil, asked))...)
					case 7, 8:
						b = append(b, window(uint32(rng.IntN(2)), 1)...)
					default:
						n := 1 + rng.IntN(10)
						p.sent += n
						b = append(b, data(1, strings.Repeat("x", n), false)...)
					}
				}
				for len(b) > 0 {
					n := min(len(b), 5+rng.IntN(1<<rng.IntN(16)))
					p.write(b[:n])
					b = b[n:]
				}
				p.hear()
			}
			close(stop)
			beside.Wait()
			p.sees(fmt.Sprintf("PING 0 ack=true %016x", asked))
			p.frames.mu.Lock()
			pongs := 0
			for _, l := range p.frames.lines {
				if strings.HasPrefix(l, "PING 0 ack=true") {
					pongs++
				}
			}
			p.frames.mu.Unlock()
			if pongs != int(asked) {
				t.Errorf("%d answers to %d pings", pongs, asked)
			}
			t.Log(p.l.inline.Load(), "inline reads of", rounds)
			p.rests()
			p.say(1)
		})
	}
}

// disturb cancels waits and sends, all the time.
func (p *inlinePeer) disturb(stop chan struct{}, rng *rand.Rand) {
	if err := p.l.s.Send(protocol.Frames{Headers: response}); err != nil {
		p.Error(err)
	}
	for {
		select {
		case <-stop:
			return
		case <-time.After(time.Duration(rng.IntN(2000)) * time.Microsecond):
		}
		if rng.IntN(4) == 0 {
			p.l.cancel()
		} else if err := p.l.s.Send(message("m")); err != nil {
			p.Error(err)
		}
	}
}
