// SPDX-License-Identifier: Apache-2.0

package experimental_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/experimental"
	"google.golang.org/grpc/experimental/footprint"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/internal/envconfig"
	"google.golang.org/grpc/internal/park"
	"google.golang.org/grpc/internal/testutils"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
)

const xorKey = "a key of some length"

// xorConn is a user's wrapper as it would be written for any net.Conn.
type xorConn struct {
	net.Conn
	in, out int // owned by the reader and by the writer: places in the key
	scratch []byte
	read    *atomic.Int64
}

func xor(p []byte, at *int) {
	for i := range p {
		p[i] ^= xorKey[*at]
		*at = (*at + 1) % len(xorKey)
	}
}

func (c *xorConn) came(p []byte) {
	xor(p, &c.in)
	c.read.Add(int64(len(p)))
}

func (c *xorConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.came(p[:n])
	return n, err
}

func (c *xorConn) Write(p []byte) (int, error) {
	c.scratch = append(c.scratch[:0], p...)
	xor(c.scratch, &c.out)
	return c.Conn.Write(c.scratch)
}

// xorReady waits without a buffer, but with a goroutine.
type xorReady struct {
	*xorConn
	sock experimental.TryReader
}

func (c *xorReady) Read(p []byte) (int, error) { return c.xorConn.Read(p) }

func (c *xorReady) ReadOnReady(size int, pool mem.BufferPool) (*[]byte, int, error) {
	buf, n, err := c.sock.ReadOnReady(size, pool)
	if n > 0 {
		c.came((*buf)[:n])
	}
	return buf, n, err
}

// xorTries waits with neither.
type xorTries struct{ *xorReady }

func (c xorTries) Read(p []byte) (int, error) { return c.xorReady.Read(p) }

func (c xorTries) ReadOnReady(size int, pool mem.BufferPool) (*[]byte, int, error) {
	return c.xorReady.ReadOnReady(size, pool)
}

func (c xorTries) TryRead(size int, pool mem.BufferPool) (*[]byte, int, error) {
	buf, n, err := c.sock.TryRead(size, pool)
	if n > 0 {
		c.came((*buf)[:n])
	}
	return buf, n, err
}

func (c xorTries) RawConn() syscall.RawConn { return c.sock.RawConn() }

// traffic is what wrappers count, and how they wrap: up to a xorTries, where the system allows it.
type traffic struct {
	read   atomic.Int64
	silent atomic.Bool // a socket was met that can't be read without waiting, as where the system has no poller
	level  int         // 0: xorConn, 1: xorReady, 2: xorTries
}

func (t *traffic) wrap(c net.Conn) net.Conn {
	plain := &xorConn{Conn: c, read: &t.read}
	sock, ok := experimental.SocketReader(c)
	switch {
	case !ok:
		t.silent.Store(true)
		return plain
	case t.level == 0:
		return plain
	case t.level == 1:
		return &xorReady{plain, sock}
	}
	return xorTries{&xorReady{plain, sock}}
}

// serveWrapped starts a server and a channel to it, both with wrapped connections.
func serveWrapped(server, client *traffic) (cc *grpc.ClientConn, stop func(), err error) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	s := grpc.NewServer()
	healthpb.RegisterHealthServer(s, health.NewServer())
	go s.Serve(testutils.WrapListener{Listener: lis, Wrap: server.wrap})
	cc, err = grpc.NewClient("passthrough:///"+lis.Addr().String(),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
			c, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
			if err != nil {
				return nil, err
			}
			return client.wrap(c), nil
		}))
	if err != nil {
		s.Stop()
		return nil, nil, err
	}
	return cc, func() { cc.Close(); s.Stop() }, nil
}

// awaitIdle waits until both connections, wrapped by t, are parked, or can't be for the reason, which then is not "".
func (t *traffic) awaitIdle(ctx context.Context, why string) error {
	if !park.Supported() || !envconfig.HTTPFramerReadBufferPooling || t.silent.Load() {
		return nil // there are other reasons
	}
	for tick := time.NewTicker(10 * time.Millisecond); ; {
		s, reasons := footprint.Read(), footprint.Unparkable()
		switch {
		case s.Connections != 2:
		case why == "" && s.Parked == 2 && len(reasons) == 0:
			return nil
		case why != "" && len(reasons) == 1 && strings.Contains(fmt.Sprint(reasons), why):
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%+v, %v; want %q", s, reasons, why)
		}
	}
}

func TestTryReader(t *testing.T) {
	for level, tt := range []struct{ name, why string }{
		{"neither", "has a Read of its own"},
		{"ReadyReader", "in a ReadOnReady of its own"},
		{"TryReader", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server, client := traffic{level: level}, traffic{level: level}
			cc, stop, err := serveWrapped(&server, &client)
			if err != nil {
				t.Fatal(err)
			}
			defer stop()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			for round := range 2 {
				// Large and small ones, so that reads are in place, direct, and into pooled buffers.
				for _, size := range []int{1, 100, 300 << 10, 1 << 20} {
					req := &healthpb.HealthCheckRequest{Service: strings.Repeat("x", size)}
					if _, err := healthpb.NewHealthClient(cc).Check(ctx, req); status.Code(err) != codes.NotFound {
						t.Fatalf("round %d, %d bytes: %v", round, size, err)
					}
				}
				if err := server.awaitIdle(ctx, tt.why); err != nil {
					t.Errorf("round %d: %v", round, err)
				}
			}
			if n := server.read.Load(); n < 2<<20 {
				t.Errorf("the server's wrapper was told of %d bytes", n)
			}
		})
	}
}

func TestSocketReader(t *testing.T) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer lis.Close()
	c, err := net.Dial("tcp", lis.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	sock, ok := experimental.SocketReader(c)
	if !ok {
		t.Skip("sockets can't be read without waiting here")
	}
	if _, _, err := sock.TryRead(100, mem.DefaultBufferPool()); !errors.Is(err, experimental.ErrWouldBlock) {
		t.Errorf("without input: %v", err)
	}
	tries, silent := traffic{level: 2}, traffic{}
	for name, tt := range map[string]struct {
		conn net.Conn
		want bool
	}{
		"embeds":       {struct{ net.Conn }{c}, true},
		"a TryReader":  {tries.wrap(c), true},
		"reads itself": {silent.wrap(c), false},
	} {
		if r, ok := experimental.SocketReader(tt.conn); ok != tt.want || (r != nil) != tt.want {
			t.Errorf("%s: %v, %v", name, r, ok)
		}
	}
}

// A wrapper that changes the bytes, idle connections of which hold no goroutine.
func ExampleTryReader() {
	server, client := traffic{level: 2}, traffic{level: 2}
	cc, stop, err := serveWrapped(&server, &client)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer stop()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_, err = healthpb.NewHealthClient(cc).Check(ctx, &healthpb.HealthCheckRequest{})
	fmt.Println(err, server.awaitIdle(ctx, ""))
	// Output: <nil> <nil>
}
