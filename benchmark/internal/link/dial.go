// SPDX-License-Identifier: Apache-2.0

// Package link opens both ends of the connections that are measured, with the options
// that a program has when it sets none.
package link

import (
	"crypto/tls"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/benchmark/internal/certs"
	"google.golang.org/grpc/benchmark/internal/ops"
	"google.golang.org/grpc/benchmark/internal/service"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/alts"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/stats/opentelemetry"
)

// Dialer opens connections to one server.
type Dialer struct {
	link    ops.Link
	targets []string
	secure  func(net.Conn) net.Conn // of raw connections, nil where they are plain
	creds   credentials.TransportCredentials
}

// NewDialer prepares what all connections share.
func NewDialer(link ops.Link, served ops.Served) (*Dialer, error) {
	d := &Dialer{link: link, targets: served.Targets, creds: insecure.NewCredentials()}
	switch {
	case link.Security == ops.TLS:
		config, err := certs.Client(served.RootPEM)
		if err != nil {
			return nil, err
		}
		d.creds = credentials.NewTLS(config)
		if link.Wrap == ops.OwnTLS {
			config, d.creds = ofH2(config), insecure.NewCredentials()
		}
		d.secure = func(c net.Conn) net.Conn { return tls.Client(c, config) }
	case link.Security == ops.ALTS && link.Protocol == ops.Raw:
		aead, err := newAEAD(served.Key)
		if err != nil {
			return nil, err
		}
		d.secure = func(c net.Conn) net.Conn { return newSealed(c, aead, clientSide) }
	case link.Security == ops.ALTS:
		opts := alts.DefaultClientOptions()
		opts.HandshakerServiceAddress = served.Handshaker
		d.creds = alts.NewClientCreds(opts)
	}
	return d, nil
}

// Channel opens the n-th channel. It connects when it is first called on.
func (d *Dialer) Channel(n int) (*grpc.ClientConn, error) {
	opts := []grpc.DialOption{
		grpc.WithTransportCredentials(d.creds),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(service.MaxMessage)),
	}
	if d.link.Metrics {
		opts = append(opts, opentelemetry.DialOption(measuring()))
	}
	if wrap := wrapper(d.link, d.secure); wrap != nil {
		opts = append(opts, grpc.WithContextDialer(dialWrapped(d.link.Network, wrap)))
	}
	return grpc.NewClient(d.target(n), opts...)
}

// Raw opens the n-th connection without a protocol.
func (d *Dialer) Raw(n int) (net.Conn, error) {
	conn, err := net.Dial(d.link.Network, d.target(n))
	if err == nil && d.link.Protocol == ops.Pings {
		err = greet(conn)
	}
	if err != nil || d.secure == nil {
		return conn, err
	}
	return d.secure(conn), nil
}

func (d *Dialer) target(n int) string { return d.targets[n%len(d.targets)] }
