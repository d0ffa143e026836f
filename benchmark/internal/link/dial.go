// SPDX-License-Identifier: Apache-2.0

package link

import (
	"crypto/tls"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/benchmark/internal/ops"
	"google.golang.org/grpc/benchmark/internal/service"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// Dialer opens connections to one server.
type Dialer struct {
	link    ops.Link
	targets []string
	secure  *tls.Config
	creds   credentials.TransportCredentials
}

// NewDialer prepares what all connections share.
func NewDialer(link ops.Link, served ops.Served) (*Dialer, error) {
	d := &Dialer{link: link, targets: served.Targets, creds: insecure.NewCredentials()}
	if link.Security == ops.TLS {
		config, err := clientTLS(served.RootPEM)
		if err != nil {
			return nil, err
		}
		d.secure, d.creds = config, credentials.NewTLS(config)
	}
	return d, nil
}

// Channel opens the n-th channel. It connects when it is first called on.
func (d *Dialer) Channel(n int) (*grpc.ClientConn, error) {
	return grpc.NewClient(d.target(n),
		grpc.WithTransportCredentials(d.creds),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(service.MaxMessage)))
}

// Raw opens the n-th connection without a protocol.
func (d *Dialer) Raw(n int) (net.Conn, error) {
	conn, err := net.Dial(d.link.Network, d.target(n))
	if err != nil || d.secure == nil {
		return conn, err
	}
	return tls.Client(conn, d.secure), nil
}

func (d *Dialer) target(n int) string { return d.targets[n%len(d.targets)] }
