// SPDX-License-Identifier: Apache-2.0

package rls

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal/balancer/nesting"
	"google.golang.org/grpc/internal/balancer/ownchannel"
	"google.golang.org/grpc/resolver"
)

// startService makes the channel to the service and begins to connect it. It does not wait for the
// connection.
func startService(b *lb, config *lbConfig, state resolver.State) *service {
	ctx, cancel := context.WithCancel(context.Background())
	s := &service{config: config, ctx: ctx, cancel: cancel, done: make(chan struct{})}
	if nesting.Of(state) >= nesting.Most {
		s.err = nesting.ErrTooDeep
	} else {
		s.cc, s.err = grpc.NewClient(config.lookupService, options(b, config, state)...)
	}
	if s.err != nil {
		logger.Errorf("the channel to %q: %v", config.lookupService, s.err)
		close(s.done)
		return s
	}
	s.cc.Connect() // so that the first lookup need not wait for the connection
	go s.watch(b)
	return s
}

// below is an option that package grpc recognises by its method.
type below struct {
	grpc.EmptyDialOption
	n int
}

// ChannelNesting returns how many channels lie above the service's.
func (o below) ChannelNesting() int { return o.n }

func options(b *lb, config *lbConfig, state resolver.State) []grpc.DialOption {
	opts := append(ownchannel.Options(b.opts, b.opts.CredsBundle), grpc.WithAuthority(b.opts.Authority), below{n: nesting.Of(state) + 1})
	if config.serviceConfig != "" {
		opts = append(opts, grpc.WithDisableServiceConfig(), grpc.WithDefaultServiceConfig(config.serviceConfig))
	}
	return opts
}

// watch forgets failed lookups when the channel becomes ready after a failure, as the cause of
// these failures may be gone. It returns when ctx ends.
func (s *service) watch(b *lb) {
	defer close(s.done)
	failed := false
	for state := s.cc.GetState(); ; state = s.cc.GetState() {
		switch state {
		case connectivity.TransientFailure:
			failed = true
		case connectivity.Ready:
			if failed {
				b.serviceIsBack(s)
			}
			failed = false
		}
		if !s.cc.WaitForStateChange(s.ctx, state) {
			return
		}
	}
}

// stop ends lookups and closes the channel. s may be nil.
func (s *service) stop() {
	if s == nil {
		return
	}
	s.cancel()
	if s.cc != nil {
		s.cc.Close()
	}
	<-s.done
}
