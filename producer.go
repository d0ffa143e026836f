// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"slices"
	"sync"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// producerSet is what lives on a subchannel beside RPCs.
type producerSet struct {
	mu  sync.Mutex
	all []*producer
}

// producer is shared by those who asked for it.
type producer struct {
	builder balancer.ProducerBuilder
	value   balancer.Producer
	end     func()
	users   int
}

// GetOrBuildProducer implements balancer.SubConn.
func (ac *addrConn) GetOrBuildProducer(b balancer.ProducerBuilder) (balancer.Producer, func()) {
	set := &ac.producers
	set.mu.Lock()
	defer set.mu.Unlock()
	p := set.of(b)
	if p == nil {
		p = &producer{builder: b}
		p.value, p.end = b.Build(subConnCalls{ac})
		set.all = append(set.all, p)
	}
	p.users++
	var once sync.Once
	return p.value, func() { once.Do(func() { set.release(p) }) }
}

// of returns the producer that b made. A builder that can't be compared makes one for
// each who asks.
func (s *producerSet) of(b balancer.ProducerBuilder) *producer {
	for _, p := range s.all {
		if sameValue(p.builder, b) {
			return p
		}
	}
	return nil
}

func (s *producerSet) release(p *producer) {
	s.mu.Lock()
	p.users--
	at := slices.Index(s.all, p)
	last := p.users == 0 && at >= 0
	if last {
		s.all = slices.Delete(s.all, at, at+1)
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
