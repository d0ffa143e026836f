// SPDX-License-Identifier: Apache-2.0

package wrappers

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/internal/readyreader"
	"google.golang.org/grpc/internal/testutils"
	"google.golang.org/grpc/internal/tlsconn"
	"google.golang.org/grpc/mem"
)

// counting is a pool that counts what is lent.
type counting struct {
	mem.BufferPool
	lent atomic.Int64
}

func (c *counting) Get(n int) *[]byte {
	c.lent.Add(1)
	return c.BufferPool.Get(n)
}

func (c *counting) Put(b *[]byte) {
	c.lent.Add(-1)
	c.BufferPool.Put(b)
}

// ends are the two of a connection: the near one is wrapped and read as a transport does it.
type ends struct {
	t          *testing.T
	near, far  net.Conn // the wrappers
	self, peer net.Conn // what they are around
	rd         readyreader.Buffered
	sock       readyreader.Socket // as a transport has it
	pool       counting
}

// newEnds connects, and has the first bytes arrive.
func newEnds(t *testing.T, k Kind, network string) *ends {
	t.Helper()
	e := &ends{t: t, pool: counting{BufferPool: mem.DefaultBufferPool()}}
	e.peer, e.self = testutils.SocketsOn(t, network)
	e.far, e.near = k.Client(e.peer), tlsconn.Adopt(k.Server(e.self), tlsconn.Options{Release: true})
	t.Cleanup(func() { e.far.Close(); e.near.Close() })
	e.sock = readyreader.NewSocket(e.near)
	e.rd = readyreader.New(e.sock, readyreader.Options{Pool: &e.pool, Size: 4 << 10, Pooled: true})
	go e.send("the beginning")
	e.want("the beginning")
	return e
}

// send writes on the far end. It fails once that is closed.
func (e *ends) send(p string) { _, _ = io.WriteString(e.far, p) }

// want reads what has to come next.
func (e *ends) want(p string) {
	e.t.Helper()
	got, err := e.rd.Peek(len(p))
	if err != nil || string(got) != p {
		e.t.Fatalf("read %q, %v; want %q", got, err, p)
	}
	if n, err := e.rd.Discard(len(p)); n != len(p) || err != nil {
		e.t.Fatal(n, err)
	}
}

// wantEnd reads until an error that no deadline made, and returns it: it comes again.
func (e *ends) wantEnd() error {
	e.t.Helper()
	_, err := e.rd.Peek(100)
	_, again := e.rd.Peek(100)
	for _, err := range []error{err, again} {
		if err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			e.t.Errorf("at the end: %v", err)
		}
	}
	e.rd.Release()
	if n := e.pool.lent.Load(); n != 0 {
		e.t.Errorf("%d buffers are held", n)
	}
	return err
}

// setDeadline sets that of reads as a transport does, and reports whether there are any.
func (e *ends) setDeadline(t time.Time) bool {
	return e.near.SetReadDeadline(t) == nil
}

// soon runs f when the reader probably waits, and ends before the test does.
func (e *ends) soon(f func()) {
	done := make(chan struct{})
	time.AfterFunc(2*time.Millisecond, func() { defer close(done); f() })
	e.t.Cleanup(func() { <-done })
}

// faults are what can happen to one who reads. Where an end is io.EOF it has to be that.
var faults = []struct {
	name string
	run  func(e *ends)
}{
	{"half-closed", func(e *ends) {
		e.soon(func() { _ = readyreader.CloseWrite(e.peer) })
		if err := e.wantEnd(); err != io.EOF {
			e.t.Error(err)
		}
	}},
	{"bytes and the end at once", func(e *ends) {
		e.send("last words")
		_ = readyreader.CloseWrite(e.peer)
		e.want("last ")
		e.want("words")
		if err := e.wantEnd(); err != io.EOF {
			e.t.Error(err)
		}
	}},
	{"the end within a frame", func(e *ends) {
		e.send("part")
		e.soon(func() { _ = readyreader.CloseWrite(e.peer) })
		if err := e.wantEnd(); err != io.ErrUnexpectedEOF && !errors.Is(err, io.EOF) {
			e.t.Error(err)
		}
	}},
	{"reset", func(e *ends) {
		if tcp, ok := e.peer.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		e.soon(func() { e.peer.Close() })
		if _, tcp := e.peer.(*net.TCPConn); e.wantEnd() == io.EOF && tcp {
			e.t.Error("taken for the end of the stream")
		}
	}},
	{"the wrapper is closed", func(e *ends) {
		e.soon(func() { e.near.Close() })
		if err := e.wantEnd(); err == io.EOF {
			e.t.Error(err)
		}
	}},
	{"closed below", func(e *ends) {
		e.soon(func() { e.self.Close() })
		if err := e.wantEnd(); err == io.EOF {
			e.t.Error(err)
		}
	}},
	{"closed within a frame", func(e *ends) {
		e.send("part")
		if _, err := e.rd.Peek(1); err != nil {
			e.t.Fatal(err)
		}
		e.soon(func() { e.near.Close() })
		e.wantEnd()
	}},
	{"in pieces", func(e *ends) {
		want := bytes.Repeat([]byte("0123456789"), 500)
		go func() {
			for i, n := 0, 1; i < len(want); i, n = i+n, n%300+7 {
				e.send(string(want[i:min(i+n, len(want))]))
			}
		}()
		for i, n := 0, 1; i < len(want); i, n = i+n, n%700+3 {
			e.want(string(want[i:min(i+n, len(want))]))
		}
	}},
	{"deadlines pass", func(e *ends) {
		if _, dies := e.near.(*ahead); dies || !e.setDeadline(time.Time{}) {
			e.t.Skip("it has no deadlines, or none that it outlives")
		}
		for range 3 {
			e.interrupted(func() (err error) { _, err = e.rd.Peek(4); return err })
			e.send("so")
			e.want("so")
		}
		e.send("pa") // within a frame
		e.interrupted(func() (err error) { _, err = e.rd.Peek(4); return err })
		e.send("rt")
		e.want("part")
	}},
}

// interrupted has deadlines pass until one has ended read. A wrapper may set its own over
// them, as it may beside any reader.
func (e *ends) interrupted(read func() error) {
	e.t.Helper()
	done := make(chan error, 1)
	go func() { done <- read() }()
	for {
		select {
		case err := <-done:
			if !errors.Is(err, os.ErrDeadlineExceeded) {
				e.t.Fatalf("ended with %v", err)
			}
			e.setDeadline(time.Time{})
			return
		case <-time.After(time.Millisecond):
			e.setDeadline(time.Unix(1, 0))
		}
	}
}

// wakes is for connections that can be parked: when there is nothing to be had, the next byte
// makes the socket readable, whatever came before and however it was read.
func wakes(e *ends) {
	p := e.rd
	if !e.sock.Can().Has(readyreader.TriesReads) {
		e.t.Fatalf("a %T can't be parked", e.near)
	}
	for i := range 60 {
		piece := string(bytes.Repeat([]byte{byte('a' + i%26)}, 1+37*i%900))
		go e.send(piece)
		var got []byte
		for len(got) < len(piece) {
			b, err := p.TryPeek(1)
			switch {
			case err == nil:
				got = append(got, b...)
				_, _ = p.Discard(1) // it is there
			case err != readyreader.ErrWouldBlock:
				e.t.Fatal(err)
			default:
				if err := readyreader.AwaitInput(e.sock.RawConn()); err != nil {
					e.t.Fatal(err)
				}
			}
			if len(got)%100 == 99 && len(got) < len(piece) { // or with a wait
				b, err := p.Peek(1)
				if err != nil {
					e.t.Fatal(err)
				}
				got = append(got, b...)
				_, _ = p.Discard(1) // it is there
			}
		}
		if string(got) != piece {
			e.t.Fatalf("round %d: %q", i, got)
		}
	}
}

// What can happen to one who reads does, over each kind and kind of socket: whatever it is,
// the reader hears of it, no byte is lost, and the pool has every buffer again.
func TestReaderFaults(t *testing.T) {
	var running sync.WaitGroup
	start := func(s setting, name string, run func(*ends)) {
		running.Go(func() {
			t.Run(s.String()+": "+name, func(t *testing.T) { run(newEnds(t, s.kind, s.network)) })
		})
	}
	for _, s := range settings() {
		if s.secure || s.shared {
			continue
		}
		for _, f := range faults {
			start(s, f.name, f.run)
		}
		if s.whyNot() == "" && !s.kind.Secures {
			start(s, "wakes", wakes)
		}
	}
	running.Wait()
}
