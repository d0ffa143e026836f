// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/peer"
)

// scaling is a service config.
func scaling(connections int) string {
	return fmt.Sprintf(`{"connectionScaling":{"maxConnectionsPerSubchannel":%d}}`, connections)
}

// withScaling is what the environment variable says.
func withScaling(on bool) DialOption {
	return dialOption(func(o *dialOptions) { o.Scale = on })
}

func withMaxScale(n int) DialOption {
	return dialOption(func(o *dialOptions) { o.MaxScale = n })
}

// crowd is a server that takes two RPCs a connection at a time, which wait until they are told
// to return.
type crowd struct {
	*testServer
	t       *testing.T
	lis     *keepingListener
	arrived chan string   // from which connection an RPC came
	leave   chan struct{} // has one RPC return
}

// keepingListener keeps the connections that it accepted.
type keepingListener struct {
	net.Listener
	mu    sync.Mutex
	conns []net.Conn
}

func (l *keepingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		l.mu.Lock()
		l.conns = append(l.conns, c)
		l.mu.Unlock()
	}
	return c, err
}

func (l *keepingListener) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.conns)
}

func newCrowd(t *testing.T) *crowd {
	c := &crowd{t: t, lis: &keepingListener{Listener: listen(t)}, arrived: make(chan string, 64), leave: make(chan struct{})}
	e := newEcho()
	e.unary = func(ctx context.Context, m *text) (*text, error) {
		p, _ := peer.FromContext(ctx)
		c.arrived <- p.Addr.String()
		select {
		case <-c.leave:
		case <-ctx.Done():
		}
		return m, nil
	}
	s := NewServer(MaxConcurrentStreams(2))
	s.RegisterService(&echoDesc, e)
	c.testServer = &testServer{s, c.lis.Addr().String(), make(chan error, 1)}
	go func() { c.served <- s.Serve(c.lis) }()
	t.Cleanup(func() {
		s.Stop()
		<-c.served
	})
	return c
}

// calls are RPCs that were begun.
type calls struct {
	done   chan error
	cancel context.CancelFunc
}

func (c *crowd) begin(cc *ClientConn, n int, opts ...CallOption) calls {
	ctx, cancel := context.WithCancel(testContext(c.t))
	out := calls{make(chan error, n), cancel}
	for range n {
		go func() { out.done <- call(ctx, cc, "x", opts...) }()
	}
	return out
}

// where waits for n RPCs to arrive, and counts them by connection.
func (c *crowd) where(n int) map[string]int {
	from := make(map[string]int)
	for range n {
		from[<-c.arrived]++
	}
	return from
}

// RPCs that one connection has no place for make another, up to the limit; then they wait.
func TestScaling(t *testing.T) {
	for _, tt := range []struct {
		what  string
		opts  []DialOption
		conns int
	}{
		{"as the service config says", []DialOption{withScaling(true), WithDefaultServiceConfig(scaling(3))}, 3},
		{"the program's bound", []DialOption{withScaling(true), withMaxScale(2), WithDefaultServiceConfig(scaling(3))}, 2},
		{"the program's higher bound", []DialOption{withScaling(true), withMaxScale(12), WithDefaultServiceConfig(scaling(11))}, 11},
		{"the usual bound", []DialOption{withScaling(true), WithDefaultServiceConfig(scaling(1000))}, 10},
		{"not said", []DialOption{withScaling(true)}, 1},
		{"not on", []DialOption{withScaling(false), WithDefaultServiceConfig(scaling(3))}, 1},
	} {
		t.Run(tt.what, func(t *testing.T) {
			c := newCrowd(t)
			cc := newTestClient(t, c.addr, tt.opts...)
			const more = 5
			all := c.begin(cc, 2*tt.conns+more)
			from := c.where(2 * tt.conns)
			for addr, n := range from {
				if n != 2 {
					t.Errorf("%d RPCs from %s", n, addr)
				}
			}
			for range more { // one leaves, another comes
				c.leave <- struct{}{}
				from[<-c.arrived]++
			}
			if len(from) != tt.conns || c.lis.count() != tt.conns {
				t.Errorf("%d connections, RPCs from %d; want %d", c.lis.count(), len(from), tt.conns)
			}
			close(c.leave)
			for range 2*tt.conns + more {
				wantCode(t, "call", <-all.done, codes.OK)
			}
		})
	}
}

// With one connection, a stream that the server has ended takes no place, though its program has not received the end.
func TestScalingUnread(t *testing.T) {
	e := newEcho()
	e.stream = func(ServerStream) error { return nil }
	s := serve(t, e, MaxConcurrentStreams(1))
	cc := newTestClient(t, s.addr, withScaling(true))
	for range 3 {
		if _, err := cc.NewStream(testContext(t), &StreamDesc{ServerStreams: true, ClientStreams: true}, "/test.Echo/Bidi"); err != nil {
			t.Fatal(err)
		}
	}
	wantCode(t, "call", call(testContext(t), cc, "x"), codes.OK)
}

// The oldest connection that has a place is used.
func TestScalingOrder(t *testing.T) {
	c := newCrowd(t)
	cc := newTestClient(t, c.addr, withScaling(true), WithDefaultServiceConfig(scaling(2)))
	first := c.begin(cc, 1)
	oldest := <-c.arrived
	all := c.begin(cc, 3)
	c.where(3)
	for range 3 { // who returns is anybody's guess
		c.leave <- struct{}{}
	}
	rest := 4
	for range 3 {
		select {
		case err := <-first.done:
			wantCode(t, "call", err, codes.OK)
		case err := <-all.done:
			wantCode(t, "call", err, codes.OK)
		}
		rest--
	}
	c.begin(cc, 1)
	if from := <-c.arrived; from != oldest {
		t.Errorf("from %s, want %s", from, oldest)
	}
	close(c.leave)
}

// An RPC that waits for a place ends with its context, and leaves its turn to the next.
func TestScalingContext(t *testing.T) {
	c := newCrowd(t)
	cc := newTestClient(t, c.addr, withScaling(true), WithDefaultServiceConfig(scaling(2)))
	all := c.begin(cc, 4)
	c.where(4)
	late := c.begin(cc, 3)
	last := c.begin(cc, 1)
	late.cancel()
	for range 3 {
		wantCode(t, "cancelled", <-late.done, codes.Canceled)
	}
	c.leave <- struct{}{}
	wantCode(t, "call", <-all.done, codes.OK)
	<-c.arrived
	close(c.leave)
	wantCode(t, "the one behind", <-last.done, codes.OK)
}

// A connection that is lost while others are there leaves the channel ready; RPCs that wait
// have another made. When the last is lost they wait for the balancer to connect again.
func TestScalingLost(t *testing.T) {
	c := newCrowd(t)
	cc := newTestClient(t, c.addr, withScaling(true), WithDefaultServiceConfig(scaling(2)))
	all := c.begin(cc, 4)
	c.where(4)
	waiting := c.begin(cc, 4)
	c.lis.mu.Lock()
	c.lis.conns[0].Close()
	c.lis.mu.Unlock()
	for range 2 {
		wantCode(t, "on the lost connection", <-all.done, codes.Unavailable)
	}
	c.where(2) // on a third connection
	if s := cc.GetState(); s != connectivity.Ready || c.lis.count() != 3 {
		t.Errorf("%v, %d connections; want READY, 3", s, c.lis.count())
	}
	c.lis.mu.Lock()
	for _, nc := range c.lis.conns {
		nc.Close()
	}
	c.lis.mu.Unlock()
	for range 2 {
		wantCode(t, "on the second", <-all.done, codes.Unavailable)
	}
	c.where(2) // those that waited
	close(c.leave)
	ok, lost := 0, 0
	for range 4 {
		if err := <-waiting.done; err == nil {
			ok++
		} else {
			wantCode(t, "on the third", err, codes.Unavailable)
			lost++
		}
	}
	if ok != 2 || lost != 2 {
		t.Errorf("%d answered, %d lost; want 2 and 2", ok, lost)
	}
}

func TestScalingClose(t *testing.T) {
	c := newCrowd(t)
	cc := newTestClient(t, c.addr, withScaling(true), WithDefaultServiceConfig(scaling(2)))
	all := c.begin(cc, 7)
	c.where(4)
	cc.Close()
	for range 7 {
		wantCode(t, "closed", <-all.done, codes.Canceled)
	}
}

// TestScalingUnreadable: what a channel does not obey does not spoil its service config.
func TestScalingUnreadable(t *testing.T) {
	const spoilt = `{"connectionScaling":{"maxConnectionsPerSubchannel":"x"}}`
	for _, on := range []bool{true, false} {
		opts := []DialOption{withScaling(on), WithTransportCredentials(insecure.NewCredentials())}
		cc, err := NewClient("passthrough:///x", append(opts, WithDefaultServiceConfig(spoilt))...)
		if (err != nil) != on {
			t.Errorf("on %t: the default gives the error %v", on, err)
		}
		if err == nil {
			cc.Close()
		}
		if cc, err = NewClient("passthrough:///x", opts...); err != nil {
			t.Fatal(err)
		}
		if r := (*channelOwner)(cc).ParseServiceConfig(spoilt); (r.Err != nil) != on {
			t.Errorf("on %t: a resolver's gives the error %v", on, r.Err)
		}
		cc.Close()
	}
}
