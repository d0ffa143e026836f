// SPDX-License-Identifier: Apache-2.0

package h2

import (
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/internal/park"
	"google.golang.org/grpc/mem"
)

// On a far path a window comes as one burst, and the connection parks in the silence that follows:
// the windows grow all the same.
func TestWindowsGrowAcrossParking(t *testing.T) {
	if !park.Supported() {
		t.Skip("not on this system")
	}
	nc, ns := socketPair(t, "unix", 0)
	defer nc.Close()
	role := &testRole{greedy: true}
	c := New(ns, Server, &Config{Pool: mem.DefaultBufferPool(), Pooled: true}, role)
	c.Start()
	defer until(t, "the end", func() bool { return role.told("closed: enough") })
	defer c.Close(errors.New("enough"))
	p := &testPeer{t: t}
	p.enc = newPeerEncoder(p)
	far := newFarPeer(t, nc)
	nc.Write(join([]byte(http2.ClientPreface), settings(), raw(fSettings, 1, 0, nil), p.request(1, false)))
	announced := func() uint32 {
		l := c.lock()
		defer l.unlock()
		return l.windows.Announced()
	}
	for i := 0; i < 50 && announced() < 1<<20; i++ {
		until(t, "parked", c.handle.Parked)
		<-time.After(20 * time.Millisecond) // so far is the peer: it is not what the test waits for
		until(t, "a window", func() bool { far.answer(); return far.window > 0 })
		far.burst()
	}
	if n := announced(); n < 1<<20 {
		t.Errorf("a window of %d bytes after 50 bursts", n)
	}
}

// farPeer is a peer that uses its window up at once, and answers only when it is asked to.
type farPeer struct {
	t       *testing.T
	nc      io.ReadWriter
	in      chan []byte // frames that came
	window  int
	initial int
}

func newFarPeer(t *testing.T, nc io.ReadWriter) *farPeer {
	f := &farPeer{t: t, nc: nc, in: make(chan []byte, 1000), window: 65535, initial: 65535}
	go func() {
		defer close(f.in)
		for {
			var h [9]byte
			if _, err := io.ReadFull(nc, h[:]); err != nil {
				return
			}
			b := append(h[:], make([]byte, int(h[0])<<16|int(h[1])<<8|int(h[2]))...)
			if _, err := io.ReadFull(nc, b[9:]); err != nil {
				return
			}
			f.in <- b
		}
	}()
	return f
}

// answer obeys what has come, and answers it.
func (f *farPeer) answer() {
	for {
		select {
		case b := <-f.in:
			f.obey(http2.FrameType(b[3]), b[4], binary.BigEndian.Uint32(b[5:]), b[9:])
		default:
			return
		}
	}
}

func (f *farPeer) obey(kind http2.FrameType, flags byte, id uint32, p []byte) {
	switch {
	case kind == http2.FrameWindowUpdate && id == 1:
		f.window += int(binary.BigEndian.Uint32(p))
	case kind == http2.FrameSettings && flags == 0:
		for ; len(p) > 0; p = p[6:] {
			if binary.BigEndian.Uint16(p) == uint16(http2.SettingInitialWindowSize) {
				n := int(binary.BigEndian.Uint32(p[2:]))
				f.window += n - f.initial
				f.initial = n
			}
		}
		f.nc.Write(raw(fSettings, 1, 0, nil))
	case kind == fPing && flags == 0:
		f.nc.Write(raw(fPing, 1, 0, p))
	}
}

// burst sends as much as there is a window for.
func (f *farPeer) burst() {
	for ; f.window > 0; f.window -= min(f.window, 16000) {
		f.nc.Write(data(1, strings.Repeat("x", min(f.window, 16000)), false))
	}
}
