// SPDX-License-Identifier: Apache-2.0

package footprint_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/experimental/footprint"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/internal/testutils"
	"google.golang.org/grpc/internal/wrappers"
)

// limited is a wrapper as netutil.LimitListener makes them.
type limited struct {
	net.Conn
	close func()
}

func newLimited(c net.Conn, open *atomic.Int64) *limited {
	return &limited{c, sync.OnceFunc(func() { open.Add(-1) })}
}

func (l *limited) Close() error {
	l.close()
	return l.Conn.Close()
}

// outer is one more around it.
type outer struct{ *limited }

// hider has none of what embedding promotes.
type hider struct{ net.Conn }

// layer shows by NetConn what it is a layer over.
type layer struct {
	net.Conn
	below net.Conn
}

func (l *layer) NetConn() net.Conn                  { return l.below }
func (l *layer) Read(p []byte) (int, error)         { return l.below.Read(p) }
func (l *layer) Write(p []byte) (int, error)        { return l.below.Write(p) }
func (l *layer) Close() error                       { return l.below.Close() }
func (l *layer) LocalAddr() net.Addr                { return l.below.LocalAddr() }
func (l *layer) RemoteAddr() net.Addr               { return l.below.RemoteAddr() }
func (l *layer) SetDeadline(t time.Time) error      { return l.below.SetDeadline(t) }
func (l *layer) SetReadDeadline(t time.Time) error  { return l.below.SetReadDeadline(t) }
func (l *layer) SetWriteDeadline(t time.Time) error { return l.below.SetWriteDeadline(t) }

// saying is a layer that says that it is none.
type saying struct{ layer }

func (s *saying) NetConn() net.Conn  { return nil }
func (s *saying) ReadsOf() net.Conn  { return s.below }
func (s *saying) WritesOf() net.Conn { return s.below }

// replaying is a wrapper that looked at the first bytes and returns them once more.
type replaying struct {
	net.Conn
	once    sync.Once
	sniffed []byte
	err     error
}

func (r *replaying) Read(p []byte) (int, error) {
	r.once.Do(func() {
		b := make([]byte, 20)
		n, err := io.ReadFull(r.Conn, b)
		r.sniffed, r.err = b[:n], err
	})
	if r.err != nil {
		return 0, r.err
	}
	if len(r.sniffed) > 0 {
		n := copy(p, r.sniffed)
		r.sniffed = r.sniffed[n:]
		return n, nil
	}
	return r.Conn.Read(p)
}

// buffering is a wrapper that reads ahead.
type buffering struct {
	net.Conn
	r *bufio.Reader
}

func (b *buffering) Read(p []byte) (int, error) { return b.r.Read(p) }

// wrapped are the kinds of wrappers whose connections park like plain ones, or rest. open counts
// those that are not closed.
var wrapped = []struct {
	name  string
	wrap  func(c net.Conn, open *atomic.Int64) net.Conn
	rests bool
}{
	{"embedding", func(c net.Conn, open *atomic.Int64) net.Conn { return newLimited(c, open) }, false},
	{"embedding twice", func(c net.Conn, open *atomic.Int64) net.Conn { return outer{newLimited(c, open)} }, false},
	{"saying so", func(c net.Conn, open *atomic.Int64) net.Conn {
		return &saying{layer{Conn: hider{}, below: newLimited(c, open)}}
	}, false},
	{"metering", func(c net.Conn, open *atomic.Int64) net.Conn { return wrappers.Meter(newLimited(c, open)) }, true},
	{"metering, not embedded", func(c net.Conn, open *atomic.Int64) net.Conn {
		return &layer{Conn: hider{}, below: wrappers.Meter(newLimited(c, open))}
	}, true},
	{"replaying", func(c net.Conn, open *atomic.Int64) net.Conn { return &replaying{Conn: newLimited(c, open)} }, true},
	{"buffering", func(c net.Conn, open *atomic.Int64) net.Conn {
		l := newLimited(c, open)
		return &buffering{Conn: l, r: bufio.NewReaderSize(l, 100)}
	}, true},
}

// security returns credentials for both sides of a connection.
func security(t *testing.T) (server, client credentials.TransportCredentials) {
	t.Helper()
	cert, roots := testutils.Certificate(t)
	server = credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{cert}})
	client = credentials.NewTLS(&tls.Config{RootCAs: roots, ServerName: "test.server"})
	return server, client
}

// place is a server and how to reach it.
type place struct {
	server, client credentials.TransportCredentials
	wrapServer     func(net.Conn) net.Conn
	wrapClient     func(net.Conn) net.Conn
	network        string // "tcp" if empty
}

// run serves and connects n channels.
func (p place) run(t *testing.T, n int) []healthpb.HealthClient {
	t.Helper()
	network, addr := "tcp", "127.0.0.1:0"
	if p.network == "unix" {
		network, addr = "unix", t.TempDir()+"/s"
	}
	lis, err := net.Listen(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(grpc.Creds(p.server))
	healthpb.RegisterHealthServer(s, health.NewServer())
	done := make(chan struct{})
	go func() { defer close(done); s.Serve(testutils.WrapListener{Listener: lis, Wrap: p.wrapServer}) }()
	t.Cleanup(func() { s.Stop(); <-done })
	var clients []healthpb.HealthClient
	for range n {
		cc, err := grpc.NewClient("passthrough:///test.server", grpc.WithTransportCredentials(p.client),
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
				c, err := new(net.Dialer).DialContext(ctx, network, lis.Addr().String())
				if err != nil {
					return nil, err
				}
				return p.wrapClient(c), nil
			}))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cc.Close() })
		clients = append(clients, healthpb.NewHealthClient(cc))
	}
	return clients
}

func check(t *testing.T, clients []healthpb.HealthClient) {
	t.Helper()
	for _, c := range clients {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		if _, err := c.Check(ctx, &healthpb.HealthCheckRequest{}); err != nil {
			t.Fatal(err)
		}
		cancel()
	}
}

// Connections that servers and dialers wrap park like others, with TLS and without, wake
// again, and are closed by the wrapper's Close.
func TestWrappedConnectionsPark(t *testing.T) {
	needsParking(t)
	server, client := security(t)
	const n = 4
	for _, w := range wrapped {
		for _, secure := range []bool{false, true} {
			name := w.name
			p := place{server: insecure.NewCredentials(), client: insecure.NewCredentials()}
			if secure {
				name += ", TLS"
				p.server, p.client = server, client
			}
			var open atomic.Int64
			p.wrapServer = func(c net.Conn) net.Conn { open.Add(1); return w.wrap(c, &open) }
			p.wrapClient = p.wrapServer
			t.Run(name, func(t *testing.T) {
				clients := p.run(t, n)
				for range 3 {
					check(t, clients)
					// The last handler may return after its connection has parked.
					waitFor(t, "all to park and hold nothing, or to rest", func() bool {
						got := footprint.Read()
						if w.rests { // after a busy moment it may be with the buffer of then
							return got.Parked == 0 && got.BuffersLent == 2*n && got.BytesLent <= 2*n*4<<10
						}
						return got.Parked == 2*n && got.BuffersLent == 0
					})
				}
			})
			waitFor(t, "the wrappers to be closed", func() bool { return open.Load() == 0 })
		}
	}
}

// A tls.Conn that the program made parks as well, and crypto/tls holds nothing then.
func TestTLSOfTheProgramParks(t *testing.T) {
	needsParking(t)
	const n = 4
	cert, roots := testutils.Certificate(t)
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		server := &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2"}, MaxVersion: version}
		client := &tls.Config{RootCAs: roots, ServerName: "test.server", NextProtos: []string{"h2"}}
		for _, w := range wrapped[:2] {
			t.Run(tls.VersionName(version)+", "+w.name, func(t *testing.T) {
				var open atomic.Int64
				p := place{
					server: insecure.NewCredentials(), client: insecure.NewCredentials(),
					wrapServer: func(c net.Conn) net.Conn { return tls.Server(w.wrap(c, &open), server) },
					wrapClient: func(c net.Conn) net.Conn { return w.wrap(tls.Client(c, client), &open) },
				}
				clients := p.run(t, n)
				for range 3 {
					check(t, clients)
					// The last handler may return after its connection has parked.
					waitFor(t, "all to park and hold nothing", func() bool {
						got := footprint.Read()
						return got.Parked == 2*n && got.BuffersLent == 0
					})
				}
			})
		}
	}
}

// Connections that can't park are counted by the reason.
func TestUnparkable(t *testing.T) {
	needsParking(t)
	p := place{
		server: insecure.NewCredentials(), client: insecure.NewCredentials(),
		wrapServer: func(c net.Conn) net.Conn { return &opaque{layer{Conn: hider{}, below: c}} },
		wrapClient: func(c net.Conn) net.Conn { return c },
	}
	check(t, p.run(t, 3))
	const why = "*footprint_test.opaque is no socket, and does not show one below it"
	if got := footprint.Unparkable(); len(got) != 1 || got[why] != 3 {
		t.Error(got)
	}
	waitFor(t, "the others to park", func() bool { return footprint.Read().Parked == 3 })
}

// opaque is a layer that shows nothing.
type opaque struct{ layer }

func (*opaque) NetConn() net.Conn { return nil }
