// SPDX-License-Identifier: Apache-2.0

package altsconn

import (
	"bytes"
	"errors"
	"io"
	"net"
	"testing"

	"google.golang.org/grpc/internal/readyreader"
	"google.golang.org/grpc/mem"
)

// lastConn is a program's ReadyReader. Each read returns one of its parts, the last one together with io.EOF.
type lastConn struct {
	net.Conn
	parts [][]byte
}

func (c *lastConn) Read(p []byte) (int, error) {
	if len(c.parts) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.parts[0])
	if c.parts[0] = c.parts[0][n:]; len(c.parts[0]) == 0 {
		c.parts = c.parts[1:]
	}
	if len(c.parts) == 0 {
		return n, io.EOF
	}
	return n, nil
}

// plainEnd is a connection about which nothing is known, and which says only once how it has ended.
type plainEnd struct {
	last lastConn
	net.Conn
	err error
}

func (c *plainEnd) Read(p []byte) (int, error) {
	n, err := c.last.Read(p)
	if err != nil {
		err, c.err = c.err, io.EOF
	}
	return n, err
}

// TestErrorComesAfterLastRecord: an error that comes together with the last record, or with the last bytes of the
// handshake, is returned after what was sent before it.
func TestErrorComesAfterLastRecord(t *testing.T) {
	want, reset := random(300), errors.New("reset")
	rec := newSealer(t, Server).record(want)
	for _, early := range []int{0, 100, len(rec)} { // what the handshake has read
		raw, _ := rawPair(t, "pipe")
		s := readyreader.NewSocket(&plainEnd{lastConn{parts: [][]byte{rec}}, raw, reset})
		leftover := make([]byte, early)
		if _, err := io.ReadFull(s, leftover); err != nil {
			t.Fatal(err)
		}
		c, err := New(s, Config{Side: Client, Protocol: AES128GCMRekey, Key: key(AES128GCMRekey), Leftover: leftover, Pool: newPool(t)})
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(c)
		if err != reset || !bytes.Equal(got, want) {
			t.Errorf("%d bytes early: read %d of %d bytes, %v", early, len(got), len(want), err)
		}
		c.Close()
	}
}

func (c *lastConn) ReadOnReady(size int, pool mem.BufferPool) (*[]byte, int, error) {
	if len(c.parts) == 0 {
		return nil, 0, io.EOF
	}
	buf := pool.Get(size)
	n, err := c.Read((*buf)[:min(len(*buf), size)])
	return buf, n, err
}

// TestLastRecordComesWithEnd: a record, or the rest of one, that comes from the connection below together with the
// end of the stream is read first.
func TestLastRecordComesWithEnd(t *testing.T) {
	want := random(300)
	for name, split := range map[string]int{"whole": 0, "rest": 100} {
		t.Run(name, func(t *testing.T) {
			rec := newSealer(t, Server).record(want)
			parts := [][]byte{rec[:split], rec[split:]}
			if split == 0 {
				parts = parts[1:]
			}
			raw, _ := rawPair(t, "pipe")
			pool := newPool(t)
			c := wrap(t, &lastConn{Conn: raw, parts: parts}, Config{Side: Client, Pool: pool})
			got, err := io.ReadAll(c)
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("read %d of %d bytes, %v", len(got), len(want), err)
			}
		})
	}
}
