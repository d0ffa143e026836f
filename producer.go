// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"sync"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// producerSet is what lives on a subchannel beside RPCs.
type producerSet struct {
	mu  sync.Mutex
	all map[balancer.ProducerBuilder]*producer
}

// producer is shared by those who asked for it.
type producer struct {
	value balancer.Producer
	end   func()
	users int
}

// GetOrBuildProducer implements balancer.SubConn.
func (ac *addrConn) GetOrBuildProducer(b balancer.ProducerBuilder) (balancer.Producer, func()) {
	set := &ac.producers
	set.mu.Lock()
	defer set.mu.Unlock()
	p := set.all[b]
	if p == nil {
		p = &producer{}
		p.value, p.end = b.Build(subConnCalls{ac})
		if set.all == nil {
			set.all = make(map[balancer.ProducerBuilder]*producer)
		}
		set.all[b] = p
	}
	p.users++
	var once sync.Once
	return p.value, func() { once.Do(func() { set.release(b, p) }) }
}

func (s *producerSet) release(b balancer.ProducerBuilder, p *producer) {
	s.mu.Lock()
	p.users--
	last := p.users == 0 && s.all[b] == p
	if last {
		delete(s.all, b)
	}
	s.mu.Unlock()
	if last {
		p.end()
	}
}

// close ends all producers, whoever still uses them.
func (s *producerSet) close() {
	s.mu.Lock()
	all := s.all
	s.all = nil
	s.mu.Unlock()
	for _, p := range all {
		p.end()
	}
}

// subConnCalls is a subchannel as a ClientConnInterface. Its RPCs need a connection that
// is there, and are not retried.
type subConnCalls struct{ ac *addrConn }

// Invoke implements ClientConnInterface.
func (s subConnCalls) Invoke(ctx context.Context, method string, args, reply any, opts ...CallOption) error {
	stream, err := s.NewStream(ctx, &StreamDesc{}, method, opts...)
	if err != nil {
		return err
	}
	if err := stream.SendMsg(args); err != nil {
		_ = err // the stream's status says more
	}
	return stream.RecvMsg(reply)
}

// NewStream implements ClientConnInterface.
func (s subConnCalls) NewStream(ctx context.Context, desc *StreamDesc, method string, opts ...CallOption) (ClientStream, error) {
	l := s.ac.ready.Load()
	if l == nil {
		return nil, status.Error(codes.Unavailable, errNotReady.Error())
	}
	return newLinkStream(ctx, l, desc, method, opts...)
}
