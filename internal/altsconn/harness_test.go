// SPDX-License-Identifier: Apache-2.0

package altsconn

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"testing"

	imem "google.golang.org/grpc/internal/mem"
	"google.golang.org/grpc/internal/readyreader"
	"google.golang.org/grpc/internal/testutils"
)

// rawPair returns the two ends of a new connection: "tcp", "unix", or "pipe", which
// has no descriptor.
func rawPair(t testing.TB, network string) (client, server net.Conn) {
	t.Helper()
	if network != "pipe" {
		return testutils.Sockets(t, network)
	}
	client, server = net.Pipe()
	t.Cleanup(func() { client.Close(); server.Close() })
	return client, server
}

var networks = []string{"tcp", "unix", "pipe"}

// newPool returns a pool that must have everything back when the test ends. Being
// registered first, its check runs after the connections are closed.
func newPool(t testing.TB) *imem.Tiered {
	t.Helper()
	pool := imem.NewTiered(256, 1<<10, 4<<10, 16<<10, 32<<10, 40<<10, 64<<10, 128<<10, 256<<10, 264<<10, 512<<10, 1<<20, 1<<20+8<<10)
	t.Cleanup(func() {
		if s := pool.Stats(); s.Buffers != 0 {
			t.Errorf("%d buffers (%d bytes) are still out of the pool", s.Buffers, s.Bytes)
		}
	})
	return pool
}

// wrap makes an ALTS connection of raw, for the length of the test.
func wrap(t testing.TB, raw net.Conn, cfg Config) net.Conn {
	t.Helper()
	if cfg.Protocol == "" {
		cfg.Protocol = AES128GCMRekey
	}
	cfg.Key = key(cfg.Protocol)
	over := New
	if _, ok := raw.(interface{ scripted() }); ok {
		over = func(s readyreader.Socket, cfg Config) (net.Conn, error) { return newOver(s, cfg, true) }
	}
	c, err := over(readyreader.NewSocket(raw), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// pair returns two connected ALTS connections. cfg's side is set.
func pair(t testing.TB, network string, cfg Config) (client, server net.Conn) {
	t.Helper()
	a, b := rawPair(t, network)
	cfg.Side = Client
	client = wrap(t, a, cfg)
	cfg.Side = Server
	return client, wrap(t, b, cfg)
}

// sealer makes records as the peer of a connection would.
type sealer struct {
	t    testing.TB
	keys *crypter
}

func newSealer(t testing.TB, side Side) *sealer {
	return &sealer{t, crypterAt(t, AES128GCMRekey, side, 0)}
}

// record returns p as the next record.
func (s *sealer) record(p []byte) []byte {
	s.t.Helper()
	b, err := s.keys.seal(appendHeader(nil, len(p)), p)
	if err != nil {
		s.t.Fatal(err)
	}
	return b
}

// random returns n bytes, always the same for the same n.
func random(n int) []byte {
	b := make([]byte, n)
	rnd := rand.NewChaCha8([32]byte{byte(n), byte(n >> 8), byte(n >> 16)})
	rnd.Read(b)
	return b
}

func wantRead(t testing.TB, c io.Reader, want []byte) {
	t.Helper()
	got := make([]byte, len(want))
	if n, err := io.ReadFull(c, got); err != nil {
		t.Fatalf("read %d of %d bytes: %v", n, len(want), err)
	}
	if !bytes.Equal(got, want) {
		t.Fatalf("read %d bytes, not those that were written", len(want))
	}
}

func mustWrite(t testing.TB, c io.Writer, p []byte) {
	t.Helper()
	if n, err := c.Write(p); n != len(p) || err != nil {
		t.Fatalf("wrote %d of %d bytes: %v", n, len(p), err)
	}
}

func needsTry(t testing.TB) {
	t.Helper()
	if runtime.GOOS == "plan9" || runtime.GOOS == "js" || runtime.GOOS == "wasip1" {
		t.Skip("sockets can't be read without waiting on this system")
	}
}
