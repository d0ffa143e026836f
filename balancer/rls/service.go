// SPDX-License-Identifier: Apache-2.0

package rls

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal/balancer/ownchannel"
)

// startService returns at once.
func startService(b *lb, config *lbConfig) *service {
	ctx, cancel := context.WithCancel(context.Background())
	s := &service{config: config, ctx: ctx, cancel: cancel, done: make(chan struct{})}
	if s.cc, s.err = grpc.NewClient(config.lookupService, options(b, config)...); s.err != nil {
		logger.Errorf("the channel to %q: %v", config.lookupService, s.err)
		close(s.done)
		return s
	}
	s.cc.Connect() // the first RPC is not to wait for that, too
	go s.watch(b)
	return s
}

func options(b *lb, config *lbConfig) []grpc.DialOption {
	opts := append(ownchannel.Options(b.opts, b.opts.CredsBundle), grpc.WithAuthority(b.opts.Authority))
	if config.serviceConfig != "" {
		opts = append(opts, grpc.WithDisableServiceConfig(), grpc.WithDefaultServiceConfig(config.serviceConfig))
	}
	return opts
}

// watch lets everything be asked for again when the service is back after a failure: what
// lookups failed for may be over.
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

// stop ends lookups and closes the channel. A nil service is stopped already.
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
