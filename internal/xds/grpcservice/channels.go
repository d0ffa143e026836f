// SPDX-License-Identifier: Apache-2.0

package grpcservice

import (
	"fmt"
	"sync"

	"google.golang.org/grpc"
)

// Channels is a set of shared channels to services. A channel is closed when its last use ends.
// The methods are safe for concurrent use. The zero value is empty.
type Channels struct {
	mu    sync.Mutex
	byKey map[string]*channel
}

// Default is the set of the process.
var Default Channels

// channel is a channel with the number of its users. Channels.mu guards users.
type channel struct {
	cc    *grpc.ClientConn
	done  func() // releases the credentials
	users int
}

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
	c.mu.Lock()
	defer c.mu.Unlock()
	ch := c.byKey[s.key]
	if ch == nil {
		var err error
		if ch, err = dial(s); err != nil {
			return nil, err
		}
		if c.byKey == nil {
			c.byKey = make(map[string]*channel)
		}
		c.byKey[s.key] = ch
	}
	ch.users++
	return &Lease{ClientConn: ch.cc, close: sync.OnceFunc(func() { c.release(s.key, ch) })}, nil
}

func (c *Channels) release(key string, ch *channel) {
	c.mu.Lock()
	ch.users--
	last := ch.users == 0
	if last {
		delete(c.byKey, key)
	}
	c.mu.Unlock()
	if last {
		_ = ch.cc.Close()
		ch.done()
	}
}

func dial(s *Service) (*channel, error) {
	bundle, calls, done, err := s.credentials.Credentials()
	if err != nil {
		return nil, fmt.Errorf("credentials for %q: %w", s.Target, err)
	}
	options := []grpc.DialOption{grpc.WithCredentialsBundle(bundle)}
	for _, c := range calls {
		options = append(options, grpc.WithPerRPCCredentials(c))
	}
	cc, err := grpc.NewClient(s.Target, options...)
	if err != nil {
		done()
		return nil, err
	}
	return &channel{cc: cc, done: done}, nil
}
