// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/internal/clock"
	"google.golang.org/grpc/internal/farpath"
	"google.golang.org/grpc/internal/testutils"
	"google.golang.org/grpc/stats"
)

// vanishing is a client and a server with a link between them that goes down without a word: each
// end is in a network namespace of its own. The time that passes is real, so the cases of a test
// run side by side.
type vanishing struct {
	testing.TB
	path     *farpath.Path
	server   *testServer
	cc       *ClientConn
	connEnds chan struct{} // of the server
	accepted chan struct{} // by the server, if it is wrapped
	closes   chan struct{} // of what the server accepted, likewise
	entered  chan struct{} // a handler runs
	left     chan error    // what a handler's stream ended with
	cut      atomic.Int64  // when the link went down, by package clock
	isDown   chan struct{} // closed by a case whose handler waits for it, or by an early one's first dial
	first    sync.Once     // of an early one's dials
}

// vanishCase is what happens when the link goes down.
type vanishCase struct {
	name   string
	server []ServerOption
	client []DialOption
	echo   func(*vanishing) *echo // nil: newEcho
	run    func(*vanishing)
	// early takes the link down as soon as there is a TCP connection.
	early bool
	long  bool // takes more than some seconds
}

// vanishKinds are the layers over a socket.
var vanishKinds = []string{"plain", "TLS", "wrapped"}

func runVanishing(t *testing.T, cases []vanishCase) {
	if err := farpath.Available(); err != nil {
		t.Skip(err)
	}
	t.Parallel()
	var running sync.WaitGroup
	for _, kind := range vanishKinds {
		for _, c := range cases {
			if c.long && testing.Short() {
				continue
			}
			running.Go(func() {
				t.Run(c.name+", "+kind, func(t *testing.T) {
					v := newVanishing(t, kind, &c)
					c.run(v)
				})
			})
		}
	}
	running.Wait()
}

func newVanishing(t *testing.T, kind string, c *vanishCase) *vanishing {
	path, err := farpath.New(farpath.Shape{RoundTrip: time.Millisecond}, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(path.Close)
	const room = 1000 // on a slow machine there are many attempts, none of which may wait for the test
	v := &vanishing{
		TB: t, path: path, connEnds: make(chan struct{}, room), closes: make(chan struct{}, room),
		accepted: make(chan struct{}, room),
		entered:  make(chan struct{}, room), left: make(chan error, room), isDown: make(chan struct{}),
	}
	over := make(chan struct{})
	lis, err := path.Far().Listen(":0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(lis.Addr().String())
	if c.early || kind == "wrapped" {
		lis = testutils.WrapListener{Listener: lis, Wrap: func(nc net.Conn) net.Conn {
			v.accepted <- struct{}{}
			if c.early {
				select { // else the server's preface may be faster
				case <-v.isDown:
				case <-over: // no dial got so far
				}
			}
			return &vanishConn{Conn: nc, closes: v.closes}
		}}
	}
	e := newEcho()
	if c.echo != nil {
		e = c.echo(v)
	}
	server := append([]ServerOption{StatsHandler(connEnds(v.connEnds))}, c.server...)
	client := append([]DialOption{WithContextDialer(v.dial(kind, c.early))}, c.client...)
	if kind == "TLS" {
		cert, pool := testutils.Certificate(t)
		server = append(server, Creds(credentials.NewServerTLSFromCert(&cert)))
		client = append(client, WithTransportCredentials(credentials.NewClientTLSFromCert(pool, "test.server")))
	}
	v.server = serveOn(t, lis, e, server...)
	t.Cleanup(func() { close(over) })
	v.cc = newTestClient(t, "passthrough:///"+net.JoinHostPort(path.Far().Addr().String(), port), client...)
	if !c.early {
		if err := call(testContext(t), v.cc, "before"); err != nil {
			t.Fatal(err)
		}
	}
	return v
}

func (v *vanishing) dial(kind string, early bool) func(context.Context, string) (net.Conn, error) {
	return func(ctx context.Context, addr string) (net.Conn, error) {
		began := clock.Now()
		if end, ok := ctx.Deadline(); ok && time.Until(end) < time.Second {
			began += int64(time.Until(end) - time.Second) // a client's second began before this function did
		}
		c, err := v.path.Near().Dial(ctx, addr)
		if err != nil {
			return nil, err
		}
		if early {
			<-v.accepted // else the last packet of TCP's own handshake may be lost
			v.down()
			v.cut.Store(began) // the time for both handshakes is one
			v.first.Do(func() { close(v.isDown) })
		}
		if kind == "wrapped" {
			c = &vanishConn{Conn: c}
		}
		return c, nil
	}
}

// down takes the link down.
func (v *vanishing) down() {
	v.path.Down()
	v.cut.Store(clock.Now())
}

// quiet waits until nothing is on its way: all that was sent is acknowledged. Both ends may be slow to say what is
// left to say, on a machine that does much else.
func (v *vanishing) quiet() {
	var before [2]farpath.Counts
	same := 0
	for range 500 {
		<-time.After(150 * time.Millisecond)
		there, back := v.path.Counts()
		now := [2]farpath.Counts{there, back}
		if same++; now != before {
			same = 0
		}
		if same == 4 {
			return
		}
		before = now
	}
	v.Fatal("packets come without end")
}

// within fails unless the time since the link went down is about d; much less is too
// soon. The machine may be busy.
func (v *vanishing) within(d time.Duration) {
	v.Helper()
	if took := time.Duration(clock.Now() - v.cut.Load()); took < d*6/10 || took > d+8*time.Second {
		v.Errorf("noticed after %v, want %v", took, d)
	}
}

// await waits for an event.
func await[T any](v *vanishing, what string, c <-chan T) (got T) {
	v.Helper()
	select {
	case got = <-c:
	case <-time.After(50 * time.Second):
		v.Fatalf("%s: not noticed", what)
	}
	return got
}

// notYet fails if there is an event within d.
func notYet[T any](v *vanishing, c <-chan T, d time.Duration) {
	v.Helper()
	select {
	case <-c:
		v.Errorf("noticed %v after the link went down", time.Duration(clock.Now()-v.cut.Load()))
	case <-time.After(d):
	}
}

// connEnds tells of the end of connections.
type connEnds chan struct{}

func (connEnds) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (connEnds) HandleRPC(context.Context, stats.RPCStats)                         {}
func (connEnds) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (c connEnds) HandleConn(_ context.Context, s stats.ConnStats) {
	if _, ended := s.(*stats.ConnEnd); ended {
		c <- struct{}{}
	}
}

// vanishConn is a layer with a Read and a Write of its own.
type vanishConn struct {
	net.Conn
	once   sync.Once
	closes chan struct{}
}

func (c *vanishConn) Read(b []byte) (int, error)  { return c.Conn.Read(b) }
func (c *vanishConn) Write(b []byte) (int, error) { return c.Conn.Write(b) }
func (c *vanishConn) Close() error {
	if c.closes != nil {
		c.once.Do(func() { c.closes <- struct{}{} })
	}
	return c.Conn.Close()
}
