// SPDX-License-Identifier: Apache-2.0

package grpclb

import (
	"context"
	"errors"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/balancer"
	lbpb "google.golang.org/grpc/balancer/grpclb/grpc_lb_v1"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/internal/backoff"
	"google.golang.org/grpc/internal/balancer/ownchannel"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
)

// quickEnd is the minimum life of a stream after which the next one begins without a pause. A
// shorter one counts as failed, even if the load balancer answered.
const quickEnd = time.Second

// minReportInterval is the minimum interval between two reports, even if the load balancer asks for
// more.
const minReportInterval = 100 * time.Millisecond

// remote keeps a stream to the load balancer open.
type remote struct {
	// Immutable.
	remoteParams
	ctx    context.Context //nolint:containedctx // ends with stop
	cancel context.CancelFunc
	done   chan struct{} // closed when the goroutine has ended

	addresses *manual.Resolver
	cc        *grpc.ClientConn // nil if it could not be made
}

// remoteParams are the parameters of a remote.
type remoteParams struct {
	name   string // the service's name, for the load balancer
	heard  hearer
	stats  *callStats         // the counts that go to the load balancer
	bundle credentials.Bundle // nil if the channel has none
	build  balancer.BuildOptions
	// resolve asks the channel's resolver for other load balancers, while the stream waits for a connection.
	resolve func(resolver.ResolveNowOptions)
}

// hearer gets the events of a remote's stream. The remote that calls it may be one that it does not
// use any more.
type hearer interface {
	// answered says that the load balancer has sent its initial response.
	answered(*remote)
	// received passes a list of servers, or nil if the load balancer asks for the fallback.
	received(*remote, *serverList)
	// lost says that the stream has ended.
	lost(*remote)
}

// newRemote returns a remote, which does nothing until update and start are called. It does not block.
func newRemote(p remoteParams) *remote {
	ctx, cancel := context.WithCancel(context.Background())
	r := &remote{
		remoteParams: p, ctx: ctx, cancel: cancel, done: make(chan struct{}),
		addresses: manual.NewBuilderWithScheme("grpclb-internal"),
	}
	r.addresses.ResolveNowCallback = p.resolve
	var err error
	if r.cc, err = grpc.NewClient("grpclb-internal:///grpclb.subClientConn", r.options()...); err != nil {
		logger.Errorf("the channel to the load balancer: %v", err)
	}
	return r
}

// start begins to open streams. It must be called once.
func (r *remote) start() { go r.run(r.ctx) }

// options returns the channel's. As in the published module, "grpc-go/" is twice in its user agent: the one of the
// balancer's channel, which is the prefix here, has it, too.
func (r *remote) options() []grpc.DialOption {
	opts := ownchannel.Options(r.build, r.bundle)
	if r.build.CustomUserAgent != "" {
		opts = append(opts, grpc.WithUserAgent(r.build.CustomUserAgent))
	}
	return append(opts,
		grpc.WithResolvers(r.addresses),
		grpc.WithDisableServiceConfig(),
		// This detects a load balancer that vanishes without closing the connection.
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 20 * time.Second, Timeout: 10 * time.Second, PermitWithoutStream: true}),
	)
}

// update gives the channel the load balancers' addresses.
func (r *remote) update(addrs []resolver.Address) {
	s := resolver.State{Addresses: addrs}
	for _, a := range addrs {
		s.Endpoints = append(s.Endpoints, resolver.Endpoint{Addresses: []resolver.Address{a}})
	}
	r.addresses.UpdateState(s)
}

// stop ends the stream and closes the channel, and returns when the goroutine of start has ended. r may be
// nil.
func (r *remote) stop() {
	if r == nil {
		return
	}
	r.cancel()
	if r.cc != nil {
		r.cc.Close()
	}
	<-r.done
}

// run opens one stream after the other until ctx ends.
func (r *remote) run(ctx context.Context) {
	defer close(r.done)
	if r.cc == nil {
		r.heard.lost(r)
		return
	}
	for failures := 0; ; failures++ {
		begin := time.Now()
		// Later streams may wait until the channel has a connection: lost has been told of the end of the one before, so
		// the fallback begins without them.
		answered, err := r.stream(ctx, grpc.WaitForReady(failures > 0))
		if ctx.Err() != nil {
			return
		}
		logger.Infof("the stream to the load balancer has ended: %v", err)
		r.heard.lost(r)
		if answered {
			failures = 0
			if time.Since(begin) >= quickEnd {
				continue
			}
		}
		if !backoff.Wait(ctx, backoff.Default.Backoff(failures)) {
			return
		}
	}
}

// stream opens a stream and handles its messages until it ends. answered reports whether the load
// balancer sent an initial response.
func (r *remote) stream(ctx context.Context, opts ...grpc.CallOption) (answered bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	var reports sync.WaitGroup
	defer reports.Wait()
	defer cancel()
	stream, err := lbpb.NewLoadBalancerClient(r.cc).BalanceLoad(ctx, opts...)
	if err != nil {
		return false, err
	}
	err = stream.Send(&lbpb.LoadBalanceRequest{LoadBalanceRequestType: &lbpb.LoadBalanceRequest_InitialRequest{
		InitialRequest: &lbpb.InitialLoadBalanceRequest{Name: r.name},
	}})
	if err != nil {
		_, err = stream.Recv() // returns the reason
		return false, err
	}
	first, err := stream.Recv()
	if err != nil {
		return false, err
	}
	initial := first.GetInitialResponse()
	if initial == nil {
		return false, errors.New("the first message was no initial response")
	}
	r.heard.answered(r)
	if every := initial.GetClientStatsReportInterval(); every.AsDuration() > 0 {
		r.stats.begin()
		reports.Go(func() { r.report(ctx, stream, max(every.AsDuration(), minReportInterval)) })
	}
	return true, r.receive(stream)
}

func (r *remote) receive(stream lbpb.LoadBalancer_BalanceLoadClient) error {
	for {
		m, err := stream.Recv()
		if err != nil {
			return err
		}
		switch m := m.GetLoadBalanceResponseType().(type) {
		case *lbpb.LoadBalanceResponse_ServerList:
			r.heard.received(r, newServerList(m.ServerList))
		case *lbpb.LoadBalanceResponse_FallbackResponse:
			r.heard.received(r, nil)
		default:
			logger.Warningf("the load balancer sent a %T, which is ignored", m)
		}
	}
}

// report sends the counts once per interval, but not twice in a row if they are zero.
func (r *remote) report(ctx context.Context, stream lbpb.LoadBalancer_BalanceLoadClient, every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for wasZero := false; ; {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		stats, zero := r.stats.take()
		if zero && wasZero {
			continue
		}
		wasZero = zero
		err := stream.Send(&lbpb.LoadBalanceRequest{LoadBalanceRequestType: &lbpb.LoadBalanceRequest_ClientStats{ClientStats: stats}})
		if err != nil {
			return // receive gets the reason
		}
	}
}
