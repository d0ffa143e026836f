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

// quickEnd is the life of a stream that failed at once, though the load balancer answered: the
// next one does not follow without a pause.
const quickEnd = time.Second

// minReportInterval is the shortest pause between two reports, however often the load balancer
// wants them.
const minReportInterval = 100 * time.Millisecond

// remote keeps a stream to the load balancer.
type remote struct {
	// Immutable.
	remoteParams
	cancel context.CancelFunc
	done   chan struct{} // closed when the goroutine has ended

	addresses *manual.Resolver
	cc        *grpc.ClientConn // nil if it could not be made
}

// remoteParams are what a remote is made of.
type remoteParams struct {
	name   string // of the service
	heard  hearer
	stats  *callStats         // what the load balancer gets to know
	bundle credentials.Bundle // nil without
	build  balancer.BuildOptions
}

// hearer is told what becomes of a stream to the load balancer. It may be a remote that it no
// longer has.
type hearer interface {
	// answered says that the load balancer speaks the protocol.
	answered(*remote)
	// received brings a list of servers, or nil if the load balancer wants the fallback used.
	received(*remote, *serverList)
	// lost says that the stream has ended.
	lost(*remote)
}

// startRemote returns at once. update has to be called before anything happens.
func startRemote(p remoteParams) *remote {
	ctx, cancel := context.WithCancel(context.Background())
	r := &remote{
		remoteParams: p, cancel: cancel, done: make(chan struct{}),
		addresses: manual.NewBuilderWithScheme("grpclb-internal"),
	}
	var err error
	if r.cc, err = grpc.NewClient("grpclb-internal:///grpclb.subClientConn", r.options()...); err != nil {
		logger.Errorf("the channel to the load balancer: %v", err)
	}
	go r.run(ctx)
	return r
}

func (r *remote) options() []grpc.DialOption {
	return append(ownchannel.Options(r.build, r.bundle),
		grpc.WithResolvers(r.addresses),
		grpc.WithDisableServiceConfig(),
		// A load balancer that is gone without a word is found out.
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

// stop ends everything. A nil remote is stopped already.
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

// run makes streams until it is stopped.
func (r *remote) run(ctx context.Context) {
	defer close(r.done)
	if r.cc == nil {
		r.heard.lost(r)
		return
	}
	for failures := 0; ; failures++ {
		begin := time.Now()
		answered, err := r.stream(ctx)
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

// stream makes one stream and does what it says until it ends.
func (r *remote) stream(ctx context.Context) (answered bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	var reports sync.WaitGroup
	defer reports.Wait()
	defer cancel()
	stream, err := lbpb.NewLoadBalancerClient(r.cc).BalanceLoad(ctx)
	if err != nil {
		return false, err
	}
	err = stream.Send(&lbpb.LoadBalanceRequest{LoadBalanceRequestType: &lbpb.LoadBalanceRequest_InitialRequest{
		InitialRequest: &lbpb.InitialLoadBalanceRequest{Name: r.name},
	}})
	if err != nil {
		_, err = stream.Recv() // says why
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
		r.stats.take() // what was before is not this stream's
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

// report sends statistics from time to time, but not zeros twice in a row.
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
			return // receive hears why
		}
	}
}
