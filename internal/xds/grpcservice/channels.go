// SPDX-License-Identifier: Apache-2.0

package grpcservice

import (
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/internal/shared"
)

// Channels is a set of shared channels to services. A channel is closed when its last use ends.
// The methods are safe for concurrent use. The zero value is empty.
type Channels struct {
	byKey shared.Values[string, *grpc.ClientConn]
}

// Default is the set of the process.
var Default Channels

// Lease is one use of a channel.
type Lease struct {
	*grpc.ClientConn
	close func()
}

// Close ends the use. It may be called more than once.
func (l *Lease) Close() error {
	l.close()
	return nil
}

// Open returns a use of the channel to a service. It makes the channel if there is none. It does
// not wait for a connection.
func (c *Channels) Open(s *Service) (*Lease, error) {
	cc, release, err := c.byKey.Use(s.key, func() (*grpc.ClientConn, func(), error) { return dial(s) })
	if err != nil {
		return nil, err
	}
	return &Lease{ClientConn: cc, close: release}, nil
}

// dial also returns a function that closes the channel and releases its credentials.
func dial(s *Service) (*grpc.ClientConn, func(), error) {
	bundle, calls, done, err := s.credentials.Credentials()
	if err != nil {
		return nil, nil, fmt.Errorf("credentials for %q: %w", s.Target, err)
	}
	options := []grpc.DialOption{grpc.WithCredentialsBundle(bundle)}
	for _, c := range calls {
		options = append(options, grpc.WithPerRPCCredentials(c))
	}
	cc, err := grpc.NewClient(s.Target, options...)
	if err != nil {
		done()
		return nil, nil, err
	}
	return cc, func() {
		_ = cc.Close()
		done()
	}, nil
}
