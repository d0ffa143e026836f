// SPDX-License-Identifier: Apache-2.0

package attacker

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"

	"google.golang.org/grpc/attack/internal/wire"
)

// flushAt is how many bytes are collected before they are written.
const flushAt = 64 << 10

// Conn is an HTTP/2 connection of an attacker. What is to be sent is collected by one
// goroutine, and written by Flush; another may read.
type Conn struct {
	a   *Attacker
	nc  net.Conn
	br  *bufio.Reader
	buf []byte // of the last frame that was read
	out []byte // that was not written yet

	wmu   sync.Mutex // of writing to nc
	split bool       // what was written ends within a header block or a frame
	later []byte     // acknowledgements that wait for its end

	inside bool // what was collected ends there

	mu     sync.Mutex
	ready  sync.Cond // window grew, or ended
	window int64     // of the connection, for DATA
	reads  bool      // somebody does
	ended  error     // that ended reading

	next uint32 // stream to open
}

func (a *Attacker) newConn(nc net.Conn) *Conn {
	c := &Conn{a: a, nc: nc, br: bufio.NewReaderSize(nc, 16<<10), window: 65535, next: 1}
	c.ready.L = &c.mu
	return c
}

// Open opens a connection to the server, with the handshakes of its security and of
// HTTP/2. Nothing is read but what they need: a kind whose attackers read says so by
// Drain.
func (a *Attacker) Open(settings ...wire.Setting) (*Conn, error) {
	nc, err := a.Dial()
	if err != nil {
		return nil, err
	}
	tc, err := a.security.client(a.ctx, nc)
	if err != nil {
		nc.Close()
		return nil, err
	}
	c := a.newConn(tc)
	c.out = append(c.out, wire.Preface...)
	err = c.Settings(settings...)
	if err == nil {
		err = c.Flush()
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// server is the attacker's end of a connection that a client opened.
func (a *Attacker) server(nc net.Conn) *Conn { return a.newConn(nc) }

func (c *Conn) readPreface() error {
	b := make([]byte, len(wire.Preface))
	if _, err := io.ReadFull(c.br, b); err != nil {
		return err
	}
	if !bytes.Equal(b, []byte(wire.Preface)) {
		return errors.New("this is no HTTP/2")
	}
	return nil
}

// Attacker is whose connection it is.
func (c *Conn) Attacker() *Attacker { return c.a }

// Over tells whether the attack has to end.
func (c *Conn) Over() bool { return c.a.Over() }

// NetConn is what lies below.
func (c *Conn) NetConn() net.Conn { return c.nc }

// Close closes the connection.
func (c *Conn) Close() { c.nc.Close() }

// Raw appends bytes to what is to be sent, which need not be whole frames: nothing else
// gets between them and what follows.
func (c *Conn) Raw(b []byte) error {
	c.out = append(c.out, b...)
	c.inside = true
	if len(c.out) >= flushAt {
		return c.Flush()
	}
	return nil
}

// Frame appends a frame.
func (c *Conn) Frame(typ, flags byte, stream uint32, payload []byte) error {
	c.out = wire.AppendFrame(c.out, wire.Frame{Type: typ, Flags: flags, Stream: stream, Payload: payload})
	c.inside = (typ == wire.Headers || typ == wire.Continuation) && flags&wire.EndHeaders == 0
	if len(c.out) >= flushAt {
		return c.Flush()
	}
	return nil
}

// Flush writes what was collected.
func (c *Conn) Flush() error {
	b := c.out
	c.out = c.out[:0]
	c.wmu.Lock()
	defer c.wmu.Unlock()
	c.split = c.inside
	_, err := c.nc.Write(b)
	if err == nil && !c.split && len(c.later) > 0 {
		_, err = c.nc.Write(c.later)
		c.later = nil
	}
	return err
}

// reply writes a frame at once, or when the one that is being sent is whole.
func (c *Conn) reply(f wire.Frame) error {
	c.wmu.Lock()
	defer c.wmu.Unlock()
	c.later = wire.AppendFrame(c.later, f)
	if c.split {
		return nil
	}
	b := c.later
	c.later = nil
	_, err := c.nc.Write(b)
	return err
}

// Settings appends a SETTINGS frame.
func (c *Conn) Settings(settings ...wire.Setting) error {
	return c.Frame(wire.Settings, 0, 0, wire.AppendSettings(nil, settings...))
}

// Stream returns the number of a new stream of a client.
func (c *Conn) Stream() uint32 {
	id := c.next
	c.next += 2
	c.a.streams.Add(1)
	return id
}

// Headers appends a whole header block, in as many frames as it takes.
func (c *Conn) Headers(stream uint32, flags byte, block []byte) error {
	typ := wire.Headers
	for len(block) > maxFrame {
		if err := c.Frame(typ, flags, stream, block[:maxFrame]); err != nil {
			return err
		}
		typ, flags, block = wire.Continuation, 0, block[maxFrame:]
	}
	return c.Frame(typ, flags|wire.EndHeaders, stream, block)
}

// maxFrame is the largest payload that every peer takes.
const maxFrame = 16 << 10

// Call opens a stream with a request to path and an empty message, and ends it.
func (c *Conn) Call(path string) (uint32, error) {
	id := c.Stream()
	if err := c.Headers(id, 0, wire.Request(path)); err != nil {
		return id, err
	}
	return id, c.Data(id, wire.EndStream, wire.AppendMessage(nil, 0, nil))
}

// Data appends DATA, as much as there is, in frames that fit; it waits for the window of
// the connection, which takes somebody who reads.
func (c *Conn) Data(stream uint32, flags byte, data []byte) error {
	for {
		n := min(len(data), maxFrame)
		if err := c.Take(n); err != nil {
			return err
		}
		last := byte(0)
		if n == len(data) {
			last = flags
		}
		if err := c.Frame(wire.Data, last, stream, data[:n]); err != nil {
			return err
		}
		if data = data[n:]; len(data) == 0 {
			return nil
		}
	}
}

// Take takes n bytes of the connection's window, and waits for them.
func (c *Conn) Take(n int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.window < int64(n) {
		if c.ended != nil {
			return c.ended
		}
		if !c.reads {
			return errors.New("the window is used up")
		}
		c.mu.Unlock()
		err := c.Flush()
		c.mu.Lock()
		if err != nil {
			return err
		}
		if c.window < int64(n) && c.ended == nil {
			c.ready.Wait()
		}
	}
	c.window -= int64(n)
	return nil
}

// Reset appends a RST_STREAM.
func (c *Conn) Reset(stream uint32, code uint32) error {
	return c.Frame(wire.RSTStream, 0, stream, wire.Uint32(code))
}

// Window appends a WINDOW_UPDATE.
func (c *Conn) Window(stream uint32, n uint32) error {
	return c.Frame(wire.WindowUpdate, 0, stream, wire.Uint32(n))
}

// Read reads a frame.
func (c *Conn) Read() (wire.Frame, error) {
	var h [wire.HeaderLen]byte
	if _, err := io.ReadFull(c.br, h[:]); err != nil {
		return wire.Frame{}, err
	}
	n := int(h[0])<<16 | int(h[1])<<8 | int(h[2])
	if n > cap(c.buf) {
		c.buf = make([]byte, n)
	}
	f := wire.Frame{
		Type: h[3], Flags: h[4], Payload: c.buf[:n],
		Stream: (uint32(h[5])<<24 | uint32(h[6])<<16 | uint32(h[7])<<8 | uint32(h[8])) &^ (1 << 31),
	}
	_, err := io.ReadFull(c.br, f.Payload)
	return f, err
}

// Drain reads in the background what the peer sends, acknowledges what wants that, and
// shows the frames to on, which may be nil.
func (c *Conn) Drain(on func(wire.Frame)) { c.drain(on, func() {}) }

// drain is Drain that calls end behind the last frame.
func (c *Conn) drain(on func(wire.Frame), end func()) {
	c.mu.Lock()
	c.reads = true
	c.mu.Unlock()
	go func() {
		err := c.EachFrame(func(f wire.Frame) error {
			if on != nil {
				on(f)
			}
			return nil
		})
		c.mu.Lock()
		defer c.mu.Unlock()
		c.ended = err
		c.ready.Broadcast()
		end()
	}()
}

// EachFrame reads frames until that fails, or each does, acknowledges what wants that, and
// counts the window.
func (c *Conn) EachFrame(each func(wire.Frame) error) error {
	for {
		f, err := c.Read()
		if err == nil {
			err = c.answer(f)
		}
		if err == nil {
			err = each(f)
		}
		if err != nil {
			return err
		}
	}
}

func (c *Conn) answer(f wire.Frame) error {
	switch {
	case f.Type == wire.GoAway && len(f.Payload) >= 8:
		text := fmt.Sprintf("%d %s", f.Payload[7], f.Payload[8:])
		c.a.goaway.CompareAndSwap(nil, &text)
		return errors.New("the victim went away: " + text)
	case f.Type == wire.Settings && f.Flags&wire.Ack == 0:
		return c.reply(wire.Frame{Type: wire.Settings, Flags: wire.Ack})
	case f.Type == wire.Ping && f.Flags&wire.Ack == 0:
		return c.reply(wire.Frame{Type: wire.Ping, Flags: wire.Ack, Payload: f.Payload})
	case f.Type == wire.WindowUpdate && f.Stream == 0 && len(f.Payload) == 4:
		c.mu.Lock()
		defer c.mu.Unlock()
		c.window += int64(f.Payload[0]&0x7f)<<24 | int64(f.Payload[1])<<16 | int64(f.Payload[2])<<8 | int64(f.Payload[3])
		c.ready.Broadcast()
	}
	return nil
}

// EachStream answers the peer's frames as a server does that behaves, and lets attack
// have each stream that is opened.
func (c *Conn) EachStream(attack func(stream uint32) error) error {
	if err := c.Settings(wire.Setting{ID: wire.MaxConcurrentStreams, Value: 1 << 20}); err != nil {
		return err
	}
	if err := c.Flush(); err != nil {
		return err
	}
	ids := make(chan uint32, 1<<16) // what does not fit is not attacked
	c.drain(func(f wire.Frame) {
		if f.Type == wire.Headers {
			select {
			case ids <- f.Stream:
			default:
			}
		}
	}, func() { close(ids) })
	for {
		select {
		case <-c.a.ctx.Done():
			return nil
		case id, ok := <-ids:
			if !ok {
				return errors.New("the client went away")
			}
			c.a.streams.Add(1)
			if err := attack(id); err != nil {
				return err
			}
			if err := c.Flush(); err != nil {
				return err
			}
		}
	}
}

// Narrow keeps what the kernel takes in for the attacker small: what it does not read stays
// with the victim.
func (c *Conn) Narrow() {
	nc := c.nc
	if tc, ok := nc.(interface{ NetConn() net.Conn }); ok {
		nc = tc.NetConn()
	}
	if k, ok := nc.(*counted); ok {
		if tc, ok := k.Conn.(*net.TCPConn); ok {
			_ = tc.SetReadBuffer(4 << 10) // the more it takes, the weaker the attack
		}
	}
}

// CloseWrite ends what is sent, and leaves the other direction open.
func (c *Conn) CloseWrite() error {
	nc := c.nc
	if k, ok := nc.(*counted); ok {
		nc = k.Conn
	}
	if w, ok := nc.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return errors.New("this connection can't be closed by halves")
}

// Below sends bytes below TLS.
func (c *Conn) Below(b []byte) error {
	nc := c.nc
	if tc, ok := nc.(interface{ NetConn() net.Conn }); ok {
		nc = tc.NetConn()
	}
	_, err := nc.Write(b)
	return err
}
