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
	// Addrs are the servers' addresses, as net.Dial takes them. Most cases use only the
	// first. Cases that need more servers than there are addresses are skipped.
	Addrs []string
	// Creds are the credentials of the connections. Nil means plaintext.
	Creds credentials.TransportCredentials
	// Options are the options of every channel that the cases use.
	Options []grpc.DialOption
}

// Client is a channel to the first server of a Config. Cases that need a channel of
// another kind make their own. It is safe for concurrent use.
type Client struct {
	cfg     Config
	conn    *grpc.ClientConn
	test    testpb.TestServiceClient
	unknown testpb.UnimplementedServiceClient
}

// NewClient returns a client of the servers of cfg. The caller must close it.
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

// with returns a client with a new channel to the same first server, with opts added. The
// caller must close it.
func (c *Client) with(opts ...grpc.DialOption) (*Client, error) {
	cfg := c.cfg
	cfg.Options = append(append([]grpc.DialOption{}, cfg.Options...), opts...)
	return NewClient(cfg)
}

// resolved returns a client with a new channel. The channel's resolver returns addrs, and
// dial makes its connections. The caller must close it.
func (c *Client) resolved(addrs []string, dial dialFunc, opts ...grpc.DialOption) (*Client, error) {
	var state resolver.State
	for _, a := range addrs {
		state.Addresses = append(state.Addresses, resolver.Address{Addr: a})
	}
	return c.resolvedTo(state, dial, opts...)
}

// resolvedTo is like resolved, but its resolver returns state.
func (c *Client) resolvedTo(state resolver.State, dial dialFunc, opts ...grpc.DialOption) (*Client, error) {
	r := manual.NewBuilderWithScheme("interop")
	r.InitialState(state)
	// The endpoint in the target is the channel's authority, and TLS checks that name if the
	// credentials have none. The path of a unix socket can't be an authority.
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
