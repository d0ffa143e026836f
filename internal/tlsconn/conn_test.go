// SPDX-License-Identifier: Apache-2.0

package tlsconn

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/internal/readyreader"
	"google.golang.org/grpc/mem"
)

var (
	_ net.Conn          = (*Conn)(nil)
	_ readyreader.Layer = (*Conn)(nil)
)

var sizes = []int{0, 1, 100, 16 << 10, 16<<10 + 1, 100_000, 1 << 20}

func TestExchange(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		forEachKind(t, func(t *testing.T, m mode) {
			client, server := pair(t, network, m)
			for _, size := range sizes {
				exchange(t, client, server, pattern(size))
				exchange(t, server, client, pattern(size))
			}
			wantIdle(t, client)
			wantIdle(t, server)
		})
	}
}

// The other side is a tls.Conn, in either role, with its small first records too.
func TestExchangeWithPlainPeer(t *testing.T) {
	forEachMode(t, func(t *testing.T, m mode) {
		for _, asServer := range []bool{true, false} {
			a, b := sockets(t, "tcp")
			config := m.config()
			config.DynamicRecordSizingDisabled = false
			ours := newConn(t, a, m.config(), asServer, m.release)
			var peer *tls.Conn
			if asServer {
				peer = tls.Client(b, config)
				shake(t, peer, ours)
			} else {
				peer = tls.Server(b, config)
				shake(t, ours, peer)
			}
			for _, size := range sizes {
				exchange(t, ours, peer, pattern(size))
				exchange(t, peer, ours, pattern(size))
			}
			wantIdle(t, ours)
			ours.Close()
		}
	})
}

// All ways to read may follow each other.
func TestReadMethods(t *testing.T) {
	forEachMode(t, func(t *testing.T, m mode) {
		client, server := pair(t, "tcp", m)
		want := pattern(300_000)
		sent := make(chan error, 1)
		go func() { sent <- send(client, want) }()
		var got []byte
		for i := 0; len(got) < len(want); i++ {
			p := make([]byte, 1+i*977%40_000)
			if i%5 == 1 && server.Can().Has(readyreader.WaitsInRead) {
				server.WaitInRead(i%2 == 0, nil)
			}
			var n int
			var err error
			switch i % 4 {
			case 0:
				n, err = server.Read(p)
			case 1:
				n, err = server.TryReadInto(p)
			default:
				var buf *[]byte
				read := server.ReadOnReady
				if i%4 == 2 {
					read = server.TryRead
				}
				if buf, n, err = read(len(p), mem.DefaultBufferPool()); err == nil {
					copy(p, (*buf)[:n])
					mem.DefaultBufferPool().Put(buf)
				}
			}
			if err != nil && err != readyreader.ErrWouldBlock {
				t.Fatal(err)
			}
			got = append(got, p[:n]...)
		}
		if err := <-sent; err != nil || !bytes.Equal(got, want) {
			t.Fatalf("other bytes received; %v", err)
		}
		wantIdle(t, server)
	})
}

func TestEmptyReads(t *testing.T) {
	client, server, _, _ := memPair(t, mode{version: tls.VersionTLS13, release: true})
	if n, err := server.Read(nil); n != 0 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if err := send(client, []byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := server.TryRead(0, mem.DefaultBufferPool()); err != io.ErrShortBuffer {
		t.Errorf("into no room: %v", err)
	}
	if _, err := receive(server, 1); err != nil {
		t.Error(err)
	}
}

func TestState(t *testing.T) {
	forEachMode(t, func(t *testing.T, m mode) {
		client, server := pair(t, "tcp", m)
		for _, c := range []*Conn{client, server} {
			s := c.ConnectionState()
			if !s.HandshakeComplete || s.Version != m.version || s.NegotiatedProtocol != "h2" || len(s.PeerCertificates) != 1 || s.ServerName != "server.test" {
				t.Errorf("%+v", s)
			}
			if _, ok := c.NetConn().(*net.TCPConn); !ok || c.LocalAddr() == nil || c.RemoteAddr() == nil || c.RawConn() == nil {
				t.Errorf("%T below", c.NetConn())
			}
		}
		if err := client.VerifyHostname("server.test"); err != nil || client.OCSPResponse() != nil {
			t.Error(err)
		}
	})
}

// wrapped reads itself.
type wrapped struct{ net.Conn }

func (w *wrapped) Read(p []byte) (int, error) { return w.Conn.Read(p) }

// What New leaves to tls.Conn.
func TestNewRefuses(t *testing.T) {
	a, b := sockets(t, "tcp")
	p, _ := net.Pipe()
	if _, ok := New(p, testConfig(), Options{}); ok {
		t.Error("took a pipe")
	}
	if _, ok := New(struct{ *wrapped }{&wrapped{a}}, testConfig(), Options{}); ok {
		t.Error("took a wrapped socket")
	}
	config := testConfig().Clone()
	config.Renegotiation = tls.RenegotiateFreelyAsClient
	if _, ok := New(b, config, Options{}); ok {
		t.Error("took a client that lets the server renegotiate")
	}
	// A layer may hold back what it took, and has to be asked again then.
	inMemory, _ := newMemSockets()
	layer, _ := pair(t, "tcp", mode{version: tls.VersionTLS13, release: true})
	for _, raw := range []net.Conn{inMemory, layer} {
		if _, ok := New(raw, testConfig(), Options{}); ok {
			t.Errorf("took a %T", raw)
		}
	}
}

// A large message of the handshake, and what it leaves behind.
func TestLargeHandshake(t *testing.T) {
	forEachMode(t, func(t *testing.T, m mode) {
		big := newConfig(strings.Repeat("x", 8000))
		for range 6 { // a chain is not checked for sense beyond its first
			big.Certificates[0].Certificate = append(big.Certificates[0].Certificate, big.Certificates[0].Certificate[0])
		}
		big.MinVersion, big.MaxVersion = m.version, m.version
		a, b := sockets(t, "tcp")
		client, server := newConn(t, a, big, false, m.release), newConn(t, b, big, true, m.release)
		defer client.Close()
		defer server.Close()
		shake(t, client, server)
		exchange(t, client, server, pattern(1000))
		exchange(t, server, client, pattern(1000))
		wantIdle(t, client)
		wantIdle(t, server)
	})
}

func TestResumption(t *testing.T) {
	forEachMode(t, func(t *testing.T, m mode) {
		config := m.config()
		config.ClientSessionCache = tls.NewLRUClientSessionCache(1)
		for i := range 2 {
			a, b := sockets(t, "tcp")
			client, server := newConn(t, a, config, false, m.release), newConn(t, b, config, true, m.release)
			shake(t, client, server)
			if got := client.ConnectionState().DidResume; got != (i > 0) {
				t.Errorf("connection %d: resumed %t", i, got)
			}
			exchange(t, server, client, pattern(10)) // with it come the tickets
			client.Close()
			server.Close()
		}
	})
}

func TestHandshakeEnds(t *testing.T) {
	for _, tt := range []struct {
		name string
		ctx  func(t *testing.T, raw net.Conn) context.Context
		want error
	}{
		{"cancelled", func(t *testing.T, _ net.Conn) context.Context {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			return ctx
		}, context.Canceled},
		{"context's deadline", func(t *testing.T, _ net.Conn) context.Context {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			t.Cleanup(cancel)
			return ctx
		}, context.DeadlineExceeded},
		{"socket's deadline", func(t *testing.T, raw net.Conn) context.Context {
			raw.SetDeadline(time.Now().Add(time.Millisecond))
			return t.Context()
		}, os.ErrDeadlineExceeded},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, _ := sockets(t, "tcp")
			c := newConn(t, a, testConfig(), true, true)
			defer c.Close()
			if err := c.HandshakeContext(tt.ctx(t, a)); !errors.Is(err, tt.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// deaf is a wrapper whose deadlines have no effect.
type deaf struct{ net.Conn }

func (deaf) SetReadDeadline(time.Time) error { return nil }

// TestDeadlinesBelow: whether deadlines end reads is for what is below TLS to say.
func TestDeadlinesBelow(t *testing.T) {
	a, b := sockets(t, "tcp")
	client, server := newConn(t, a, testConfig(), false, true), newConn(t, deaf{b}, testConfig(), true, true)
	defer client.Close()
	defer server.Close()
	if !readyreader.DeadlinesEndReads(client) || readyreader.DeadlinesEndReads(server) {
		t.Errorf("over a socket %t, over deadlines without effect %t", readyreader.DeadlinesEndReads(client), readyreader.DeadlinesEndReads(server))
	}
}

// Callbacks and errors show the connection that TLS was put over.
func TestUnderlying(t *testing.T) {
	a, b := sockets(t, "tcp")
	config := testConfig().Clone()
	var seen net.Conn
	config.GetConfigForClient = func(h *tls.ClientHelloInfo) (*tls.Config, error) {
		seen = Underlying(h.Conn)
		return nil, nil
	}
	client, server := newConn(t, a, testConfig(), false, true), newConn(t, b, config, true, true)
	shake(t, client, server)
	client.Close()
	server.Close()
	if seen != b || Underlying(a) != a {
		t.Errorf("callback: %T", seen)
	}
	a, b = sockets(t, "tcp")
	server = newConn(t, b, config, true, true)
	defer server.Close()
	if _, err := a.Write([]byte("GET / HTTP/1.1\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	var header tls.RecordHeaderError
	if err := server.HandshakeContext(t.Context()); !errors.As(err, &header) || header.Conn != b {
		t.Errorf("not TLS: %v", err)
	}
}

// Where much is there at once, much is read at once; where little is, little.
func TestReadsGrow(t *testing.T) {
	forEachMode(t, func(t *testing.T, m mode) {
		client, server, _, _ := memPair(t, m)
		for _, tt := range []struct {
			size int
			bulk bool
		}{{100, false}, {500_000, true}, {100, false}} {
			exchange(t, client, server, pattern(tt.size))
			if server.intake.bulk != tt.bulk {
				t.Errorf("after %d bytes much is read at once: %t", tt.size, server.intake.bulk)
			}
		}
	})
}

// Memory that a tls.Conn of an unknown version has had is not another connection's afterwards.
func TestPoolOfUnknownVersions(t *testing.T) {
	for _, tt := range []struct{ lent, tested, shared bool }{
		{true, true, true},
		{true, false, false},
		{false, false, true}, // crypto/tls copies from it, and is lent nothing
	} {
		_, nop := cipherPool(tt.lent, tt.tested).(mem.NopBufferPool)
		if nop == tt.shared {
			t.Errorf("lent %v, tested %v: kept from others %v", tt.lent, tt.tested, nop)
		}
	}
}
