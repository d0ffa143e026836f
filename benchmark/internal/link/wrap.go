// SPDX-License-Identifier: Apache-2.0

package link

import (
	"context"
	"crypto/tls"
	"net"
	"sync/atomic"

	"google.golang.org/grpc/benchmark/internal/ops"
)

// embeds is a wrapper that does nothing.
type embeds struct{ net.Conn }

// meter is one that counts.
type meter struct {
	net.Conn
	in, out atomic.Int64
}

func (m *meter) Read(p []byte) (int, error) {
	n, err := m.Conn.Read(p)
	m.in.Add(int64(n))
	return n, err
}

func (m *meter) Write(p []byte) (int, error) {
	n, err := m.Conn.Write(p)
	m.out.Add(int64(n))
	return n, err
}

// counter is a meter that need not be called: see experimental.ReadCounter.
type counter struct{ meter }

func (c *counter) ReadsOf() net.Conn  { return c.Conn }
func (c *counter) WritesOf() net.Conn { return c.Conn }
func (c *counter) CountRead(n int)    { c.in.Add(int64(n)) }
func (c *counter) CountWritten(n int) { c.out.Add(int64(n)) }

// wrapper returns what puts something around a connection of either side.
func wrapper(link ops.Link, secure func(net.Conn) net.Conn) func(net.Conn) net.Conn {
	switch link.Wrap {
	case ops.Embeds:
		return func(c net.Conn) net.Conn { return embeds{c} }
	case ops.Meters:
		return func(c net.Conn) net.Conn { return &meter{Conn: c} }
	case ops.Counts:
		return func(c net.Conn) net.Conn { return &counter{meter{Conn: c}} }
	case ops.OwnTLS:
		return secure
	}
	return nil
}

// wrapping is a listener whose connections are wrapped.
type wrapping struct {
	net.Listener
	wrap func(net.Conn) net.Conn
}

func (w wrapping) Accept() (net.Conn, error) {
	c, err := w.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return w.wrap(c), nil
}

// dialWrapped is a dialer whose connections are wrapped.
func dialWrapped(network string, wrap func(net.Conn) net.Conn) func(context.Context, string) (net.Conn, error) {
	return func(ctx context.Context, addr string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return wrap(c), nil
	}
}

// ofH2 is a copy of config for a connection of gRPC's that the program secures itself.
func ofH2(config *tls.Config) *tls.Config {
	config = config.Clone()
	config.NextProtos = []string{"h2"}
	return config
}
