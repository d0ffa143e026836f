// SPDX-License-Identifier: Apache-2.0

package channel

import (
	"slices"
	"sync"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/internal/same"
)

// producerSet holds the producers (balancer.Producer) of a subchannel.
type producerSet struct {
	mu  sync.Mutex
	all []*producer
}

// producer is one producer. All callers of get that pass the same builder share it.
type producer struct {
	builder balancer.ProducerBuilder
	value   balancer.Producer
	end     func()
	users   int
}

// get returns the producer of the builder b, which it builds if there is none, and a function that
// gives the producer up. client returns the ClientConnInterface for the RPCs of a new producer.
func (s *producerSet) get(b balancer.ProducerBuilder, client func() any) (balancer.Producer, func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.of(b)
	if p == nil {
		p = &producer{builder: b}
		p.value, p.end = b.Build(client())
		s.all = append(s.all, p)
	}
	p.users++
	return p.value, sync.OnceFunc(func() { s.release(p) })
}

// of returns the producer that b made, or nil if there is none. A builder that can't be compared
// makes a new producer for each call of get.
func (s *producerSet) of(b balancer.ProducerBuilder) *producer {
	for _, p := range s.all {
		if same.Value(p.builder, b) {
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

// close ends all producers, even those that are still used.
func (s *producerSet) close() {
	s.mu.Lock()
	all := s.all
	s.all = nil
	s.mu.Unlock()
	endAll(all)
}

func endAll(all []*producer) {
	defer func() {
		if len(all) > 0 { // the end of one has left by a panic or Goexit
			endAll(all)
		}
	}()
	for len(all) > 0 {
		p := all[0]
		all = all[1:]
		p.end()
	}
}
