// SPDX-License-Identifier: Apache-2.0

package tlsconn

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"

	"google.golang.org/grpc/internal/readyreader"
	"google.golang.org/grpc/internal/testutils"
	"google.golang.org/grpc/mem"
)

// Data and KeyUpdates both ways at once, through little room: the answers to the
// KeyUpdates come between the records of a writer that knows nothing of them.
func TestKeyUpdatesBesideWrites(t *testing.T) {
	forEachPeer13(t, func(t *testing.T, p *peer13, c *Conn) {
		const rounds, size = 100, 3000
		p.sock.in.room, p.sock.out.room = 5000, 5000
		var running sync.WaitGroup
		running.Go(func() {
			for range rounds {
				p.write(p.update(true), p.seal(typeData, pattern(size)))
			}
		})
		running.Go(func() {
			for range rounds {
				if err := send(c, pattern(size)); err != nil {
					t.Error(err)
				}
			}
		})
		running.Go(func() {
			got, err := receive(c, rounds*size)
			if err != nil || !bytes.Equal(got[size:2*size], pattern(size)) {
				t.Error("other bytes received", err)
			}
		})
		var got []byte
		in := p.sock.in
		for updates := 0; len(got) < rounds*size || updates < rounds; {
			typ, data, err := p.read()
			switch {
			case err == readyreader.ErrWouldBlock:
				in.mu.Lock()
				seen := len(in.b)
				for len(in.b) == seen {
					in.room = max(in.room, seen+1) // a record larger than the room
					in.changed.Broadcast()
					in.changed.Wait()
				}
				in.mu.Unlock()
			case err != nil:
				t.Fatal(err)
			case typ == typeHandshake:
				updates++
			default:
				got = append(got, data...)
			}
		}
		running.Wait()
		if !bytes.Equal(got[:size], pattern(size)) {
			t.Error("other bytes arrived at the peer")
		}
	})
}

// Close comes at any moment of reading, writing and CloseWrite.
func TestCloseAnytime(t *testing.T) {
	forEachKind(t, func(t *testing.T, m mode) {
		for range testutils.Rounds(20) {
			client, server := pair(t, "unix", m)
			p := pattern(1 + rand.IntN(300_000))
			var running sync.WaitGroup
			for _, c := range []*Conn{client, server} {
				running.Go(func() {
					for send(c, p) == nil {
					}
				})
				running.Go(func() {
					left := rand.IntN(1 << 20)
					for left > 0 {
						buf, n, err := c.ReadOnReady(32<<10, mem.DefaultBufferPool())
						if err != nil {
							if err != io.EOF && !errors.Is(err, net.ErrClosed) && !isReset(err) {
								t.Error(err)
							}
							break
						}
						mem.DefaultBufferPool().Put(buf)
						left -= n
					}
					if rand.IntN(2) == 0 {
						_ = c.CloseWrite()
					}
					c.Close()
				})
			}
			running.Wait()
			for _, c := range []*Conn{client, server} {
				c.out.mu.Lock() // what was left to a goroutine may be about to find the end
				if c.intake.Memory() != 0 || c.out.p != nil {
					t.Error("a buffer is held")
				}
				c.out.mu.Unlock()
			}
		}
	})
}

// isReset tells the end that a peer makes which closes with input unread.
func isReset(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) || errors.Is(err, io.ErrUnexpectedEOF)
}
