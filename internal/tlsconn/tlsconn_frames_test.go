// SPDX-License-Identifier: Apache-2.0

package tlsconn

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"google.golang.org/grpc/internal/readyreader"
	"google.golang.org/grpc/mem"
)

// Frames of all lengths as the connection above reads and writes them: batches of
// many, peeks, reads to their destination, in both directions at once.
func TestFrames(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		forEachMode(t, func(t *testing.T, m mode) {
			client, server := pair(t, network, m)
			const total = 6 << 20
			errs := make(chan error, 4)
			for _, c := range []*Conn{client, server} {
				seed := rand.Uint64()
				t.Logf("seed %d", seed)
				go func() { errs <- writeFrames(c, rand.New(rand.NewPCG(seed, 1)), total) }()
				go func() { errs <- readFrames(c, rand.New(rand.NewPCG(seed, 2)), total) }()
			}
			for range 4 {
				if err := <-errs; err != nil {
					t.Error(err)
					client.Close() // the others end with it
					server.Close()
				}
			}
		})
	}
}

// A frame is the length of the content and its place in the stream, 4 bytes each,
// and the content, each byte of which tells its place.

func writeFrames(c *Conn, r *rand.Rand, total int) error {
	for at := 0; at < total; {
		var batch []byte
		for limit := r.IntN(256 << 10); at < total && len(batch) <= limit; {
			size := r.IntN(40)
			if r.IntN(3) == 0 {
				size = r.IntN(64 << 10)
			}
			batch = binary.BigEndian.AppendUint32(batch, uint32(size))
			batch = binary.BigEndian.AppendUint32(batch, uint32(at))
			for i := range size {
				batch = append(batch, byte(at+i)^byte((at+i)>>8))
			}
			at += size + 8
		}
		n, err := c.TryWrite(batch)
		if err == readyreader.ErrWouldBlock {
			_, err = c.Write(batch[n:])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func readFrames(c *Conn, r *rand.Rand, total int) error {
	b := readyreader.New(readyreader.NewSocket(c), readyreader.Options{Pool: mem.DefaultBufferPool(), Size: 32 << 10, Pooled: true})
	defer b.Release()
	for at := 0; at < total; {
		if r.IntN(2) == 0 {
			if _, err := b.TryPeek(8); err != nil && err != readyreader.ErrWouldBlock {
				return err
			}
			if b.Buffered() == 0 {
				c.ReleaseIdle()
			}
		}
		header, err := b.Peek(8)
		if err != nil {
			return err
		}
		size, place := int(binary.BigEndian.Uint32(header)), int(binary.BigEndian.Uint32(header[4:]))
		if place != at {
			return fmt.Errorf("a frame of place %d at %d", place, at)
		}
		if _, err := b.Discard(8); err != nil {
			return err
		}
		p := make([]byte, size)
		if _, err := io.ReadFull(b, p); err != nil {
			return err
		}
		want := make([]byte, size)
		for i := range want {
			want[i] = byte(at+i) ^ byte((at+i)>>8)
		}
		if !bytes.Equal(p, want) {
			return errors.New("other bytes received")
		}
		at += size + 8
	}
	return nil
}
