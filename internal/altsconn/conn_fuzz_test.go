// SPDX-License-Identifier: Apache-2.0

package altsconn

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc/internal/readyreader"
	"google.golang.org/grpc/mem"
)

// feed is a connection that plays back input in pieces. An empty piece is a moment
// without input.
type feed struct {
	readyreader.BaseLayer
	net.Conn
	pieces [][]byte
	waits  func()
	closed bool
}

func (f *feed) next(size int, pool mem.BufferPool, wait bool) (*[]byte, int, error) {
	for wait && len(f.pieces) > 0 && len(f.pieces[0]) == 0 {
		f.waits()
		f.pieces = f.pieces[1:]
	}
	switch {
	case f.closed:
		return nil, 0, net.ErrClosed
	case len(f.pieces) == 0:
		return nil, 0, io.EOF
	case len(f.pieces[0]) == 0:
		f.pieces = f.pieces[1:]
		return nil, 0, readyreader.ErrWouldBlock
	}
	buf := pool.Get(size)
	n := copy((*buf)[:size], f.pieces[0])
	if f.pieces[0] = f.pieces[0][n:]; len(f.pieces[0]) == 0 {
		f.pieces = f.pieces[1:]
	}
	return buf, n, nil
}

func (f *feed) ReadOnReady(size int, pool mem.BufferPool) (*[]byte, int, error) {
	return f.next(size, pool, true)
}

func (f *feed) TryRead(size int, pool mem.BufferPool) (*[]byte, int, error) {
	return f.next(size, pool, false)
}

func (f *feed) Can() readyreader.Ability {
	return readyreader.ReadsReady | readyreader.TriesReads | readyreader.TriesWrites
}

func (f *feed) scripted()                       {} // may stand for a socket
func (f *feed) TryWrite(p []byte) (int, error)  { return len(p), nil }
func (f *feed) Write(p []byte) (int, error)     { return len(p), nil }
func (f *feed) Read([]byte) (int, error)        { panic("not read this way") }
func (f *feed) Close() error                    { f.closed = true; return nil }
func (f *feed) SetReadDeadline(time.Time) error { return nil }
func split(stream, cuts []byte) (pieces [][]byte) {
	for _, c := range cuts {
		n := min(int(c)*int(c), len(stream))
		pieces = append(pieces, stream[:n])
		stream = stream[n:]
	}
	if len(stream) > 0 {
		pieces = append(pieces, stream)
	}
	return pieces
}

// FuzzRecords reads a stream of records, of the sizes that sizes says, one of its
// bytes perhaps changed, which arrives in the pieces that cuts says, by the calls that
// calls says. What is read must be what was sealed, up to an error if there is
// one to be.
func FuzzRecords(f *testing.F) {
	f.Add([]byte{1, 2, 3}, []byte{3, 0, 5}, []byte{0, 9, 1, 9, 2, 9}, uint32(0), byte(0))
	f.Add([]byte{255, 0, 255}, []byte{8, 0, 8, 0, 90, 0, 200, 0}, []byte{1, 255}, uint32(0), byte(0))
	f.Add([]byte{20, 200}, []byte{}, []byte{2, 1}, uint32(9), byte(1))
	f.Add([]byte{0, 0, 0}, []byte{1, 1, 1, 1}, []byte{}, uint32(3), byte(0x40))
	f.Fuzz(func(t *testing.T, sizes, cuts, calls []byte, at uint32, flip byte) {
		s := newSealer(t, Server)
		var stream, want []byte
		for _, n := range sizes[:min(len(sizes), 16)] {
			p := random(int(n) * int(n) * 3)
			want = append(want, p...)
			stream = append(stream, s.record(p)...)
		}
		broken := flip != 0 && len(stream) > 0
		if broken {
			stream[int(at)%len(stream)] ^= flip
		}
		pool := newPool(t)
		fd := &feed{pieces: split(stream, cuts)}
		c := wrap(t, fd, Config{Pool: pool}).(*Socket)
		fd.waits = func() {
			held := int64(arrived(c))
			if got := pool.Stats().Bytes; got > 4*held+2*slack {
				t.Fatalf("%d bytes are held at a wait for %d that arrived", got, held)
			}
		}
		got, err := drain(t, c, pool, calls)
		if !bytes.HasPrefix(want, got) {
			t.Fatal("what was read was not sealed")
		}
		if !broken && (err != io.EOF || len(got) != len(want)) {
			t.Fatalf("%d of %d bytes, then %v", len(got), len(want), err)
		}
		if n := pool.Stats().Buffers; n != 0 {
			t.Fatalf("%d buffers are held after %v", n, err)
		}
	})
}

// drain reads until there is an error other than a moment without input.
func drain(t *testing.T, c *Socket, pool mem.BufferPool, calls []byte) (got []byte, err error) {
	for i := 0; ; i += 2 {
		op, size := byte(0), 100
		if i+1 < len(calls) {
			op, size = calls[i], int(calls[i+1])*40
		}
		var n int
		switch op % 4 {
		case 0, 1:
			p := make([]byte, size)
			if op%4 == 0 {
				n, err = c.Read(p)
			} else {
				n, err = c.TryReadInto(p)
			}
			got = append(got, p[:n]...)
		case 2, 3:
			lend := c.ReadOnReady
			if op%4 == 3 {
				lend = c.TryRead
			}
			var buf *[]byte
			if buf, n, err = lend(max(size, 1), pool); err == nil {
				got = append(got, (*buf)[:n]...)
				pool.Put(buf)
			}
		}
		if err != nil && err != readyreader.ErrWouldBlock {
			if n > 0 {
				t.Fatalf("%d bytes and %v", n, err)
			}
			return got, err
		}
	}
}

// FuzzRecordSize parses arbitrary bytes as a header.
func FuzzRecordSize(f *testing.F) {
	f.Add(appendHeader(nil, 100))
	f.Add(appendHeader(nil, maxLength-typeSize-tagSize))
	f.Add(appendHeader(nil, 1)[:5])
	f.Add([]byte{1, 0, 0x10, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		size, err := recordSize(b)
		var re *recordError
		switch {
		case err != nil:
			if !errors.As(err, &re) || len(b) < lengthSize {
				t.Fatal(err)
			}
		case size == 0:
			if len(b) >= headerSize {
				t.Fatal("a whole header and no verdict")
			}
		case size < overhead || size > lengthSize+maxLength || size != lengthSize+int(binary.LittleEndian.Uint32(b)):
			t.Fatalf("size %d", size)
		}
	})
}
