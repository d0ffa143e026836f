// SPDX-License-Identifier: Apache-2.0

package altsconn

import (
	"bytes"
	"io"
	"net"
	"testing"

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
