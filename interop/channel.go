// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"context"
	"errors"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
)

// Config says where the servers of the cases are, and how to talk to them.
type Config struct {
	// Network is tcp or unix.
	Network string
	// Addrs are the servers', as net.Dial takes them. One is enough for most cases, and
	// the first is the one they use; those that need more are skipped without.
	Addrs []string
	// Creds are those of the connections; nil is none at all.
	Creds credentials.TransportCredentials
	// Options are for every channel of the cases.
	Options []grpc.DialOption
}

// Client is a channel to the first server of a Config; cases that need a channel of
// another kind open their own. It is safe for concurrent use.
type Client struct {
	cfg     Config
	conn    *grpc.ClientConn
	test    testpb.TestServiceClient
	unknown testpb.UnimplementedServiceClient
}

// NewClient returns a client of the servers of cfg. The caller closes it.
func NewClient(cfg Config) (*Client, error) {
	if len(cfg.Addrs) == 0 {
		return nil, errors.New("interop: no address of a server")
	}
	target := cfg.Addrs[0]
	switch cfg.Network {
	case "tcp":
	case "unix":
		target = "unix:" + target
	default:
		return nil, errors.New("interop: network " + cfg.Network + " is neither tcp nor unix")
	}
	return newChannel(cfg, target)
}

// Close closes the channel.
func (c *Client) Close() error { return c.conn.Close() }

// with returns a client with a channel of its own to the same first server, with opts
// added. The caller closes it.
func (c *Client) with(opts ...grpc.DialOption) (*Client, error) {
	cfg := c.cfg
	cfg.Options = append(append([]grpc.DialOption{}, cfg.Options...), opts...)
	return NewClient(cfg)
}

// resolved returns a client with a channel of its own, whose resolver knows addrs from
// the start, and whose connections dial makes. The caller closes it.
func (c *Client) resolved(addrs []string, dial dialFunc, opts ...grpc.DialOption) (*Client, error) {
	var state resolver.State
	for _, a := range addrs {
		state.Addresses = append(state.Addresses, resolver.Address{Addr: a})
	}
	return c.resolvedTo(state, dial, opts...)
}

// resolvedTo is resolved with all that a resolver says.
func (c *Client) resolvedTo(state resolver.State, dial dialFunc, opts ...grpc.DialOption) (*Client, error) {
	r := manual.NewBuilderWithScheme("interop")
	r.InitialState(state)
	// What follows the scheme is the authority, and so the name that TLS checks if the
	// credentials have none; a path can't be one.
	name := "localhost"
	if c.cfg.Network == "tcp" {
		name = state.Addresses[0].Addr
	}
	cfg := c.cfg
	cfg.Options = append(append([]grpc.DialOption{}, cfg.Options...), grpc.WithResolvers(r), grpc.WithContextDialer(dial))
	cfg.Options = append(cfg.Options, opts...)
	return newChannel(cfg, "interop:///"+name)
}

// dialFunc connects to one address of a resolver.
type dialFunc func(ctx context.Context, addr string) (net.Conn, error)

// dial connects over the network of the configuration.
func (c *Client) dial(ctx context.Context, addr string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, c.cfg.Network, addr)
}

func newChannel(cfg Config, target string) (*Client, error) {
	creds := cfg.Creds
	if creds == nil {
		creds = insecure.NewCredentials()
	}
	opts := []grpc.DialOption{grpc.WithStatsHandler(flagHandler{}), grpc.WithTransportCredentials(creds)}
	conn, err := grpc.NewClient(target, append(opts, cfg.Options...)...)
	if err != nil {
		return nil, err
	}
	return &Client{
		cfg:     cfg,
		conn:    conn,
		test:    testpb.NewTestServiceClient(conn),
		unknown: testpb.NewUnimplementedServiceClient(conn),
	}, nil
}
