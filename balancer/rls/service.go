// SPDX-License-Identifier: Apache-2.0

package rls

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	lookuppb "google.golang.org/grpc/internal/proto/grpc_lookup_v1"
)

// service is the channel to the route lookup service.
type service struct {
	config *lbConfig
	ctx    context.Context // ends lookups
	cancel context.CancelFunc
	cc     *grpc.ClientConn // nil if it could not be made
	err    error            // why not
	done   chan struct{}    // closed when the channel is watched no more
}

// startService returns at once.
func startService(b *lb, config *lbConfig) *service {
	ctx, cancel := context.WithCancel(context.Background())
	s := &service{config: config, ctx: ctx, cancel: cancel, done: make(chan struct{})}
	if s.cc, s.err = grpc.NewClient(config.lookupService, options(b, config)...); s.err != nil {
		logger.Errorf("the channel to %q: %v", config.lookupService, s.err)
		close(s.done)
		return s
	}
	go s.watch(b)
	return s
}

func options(b *lb, config *lbConfig) []grpc.DialOption {
	o := b.opts
	opts := []grpc.DialOption{grpc.WithAuthority(o.Authority)}
	switch {
	case o.CredsBundle != nil:
		opts = append(opts, grpc.WithCredentialsBundle(o.CredsBundle))
	case o.DialCreds != nil:
		opts = append(opts, grpc.WithTransportCredentials(o.DialCreds.Clone()))
	default:
		opts = append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()))
	}
	if o.Dialer != nil {
		opts = append(opts, grpc.WithContextDialer(o.Dialer))
	}
	if o.CustomUserAgent != "" {
		opts = append(opts, grpc.WithUserAgent(o.CustomUserAgent))
	}
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

// lookup asks once, for as long as the configuration allows.
func (s *service) lookup(keys map[string]string, reason lookuppb.RouteLookupRequest_Reason, header string) (*lookuppb.RouteLookupResponse, error) {
	if s.cc == nil {
		return nil, s.err
	}
	ctx, cancel := context.WithTimeout(s.ctx, s.config.timeout)
	defer cancel()
	out, err := lookuppb.NewRouteLookupServiceClient(s.cc).RouteLookup(ctx, &lookuppb.RouteLookupRequest{
		TargetType: "grpc", KeyMap: keys, Reason: reason, StaleHeaderData: header,
	})
	if err == nil && len(out.GetTargets()) == 0 {
		err = fmt.Errorf("RLS response's target list does not contain any entries for keys {%s}", text(keys))
	}
	return out, err
}
