// SPDX-License-Identifier: Apache-2.0

package extproc

import (
	"context"
	"time"

	"google.golang.org/grpc/internal/rpcconfig"
	"google.golang.org/grpc/internal/xds/grpcservice"
	"google.golang.org/grpc/internal/xds/httpfilter"
	"google.golang.org/grpc/metadata"
)

// filter is that of a route.
type filter struct {
	config   *Config
	memory   *httpfilter.Memory // may be nil
	channel  httpfilter.Channel
	channels *grpcservice.Channels
}

// kept keeps a channel open while there are no RPCs.
type kept struct{ lease *grpcservice.Lease }

// Close implements io.Closer.
func (k *kept) Close() error {
	if k.lease == nil {
		return nil
	}
	return k.lease.Close()
}

// Client implements httpfilter.ClientKind.
func (Kind) Client(i httpfilter.Instance) rpcconfig.Interceptor {
	c, ok := i.Config.(*Config)
	if !ok {
		return nil
	}
	if o, ok := i.Override.(*Override); ok {
		c = c.with(o)
	}
	if c.Mode.idle() {
		return nil
	}
	f := &filter{config: c, memory: i.Memory, channels: &grpcservice.Default}
	if i.Channel != nil {
		f.channel = *i.Channel
	}
	if i.Memory != nil {
		httpfilter.Kept(i.Memory, c.Service.Key(), func() *kept {
			lease, _ := f.channels.Open(c.Service) // RPCs will say what is wrong
			return &kept{lease}
		})
	}
	return f
}

// Begin implements rpcconfig.Interceptor.
func (f *filter) Begin(ctx context.Context, rpc rpcconfig.RPC, next func(context.Context) (rpcconfig.Stream, error)) (rpcconfig.Stream, error) {
	p := newProcess(ctx, f, rpc)
	ctx = p.ctx
	if p.modeNow().RequestHeaders {
		md, err := p.requestHeaders()
		if err != nil {
			p.finish()
			return nil, err
		}
		ctx = metadata.NewOutgoingContext(ctx, md)
	}
	inner, err := next(ctx)
	if err != nil {
		if failed := p.failure(); failed != nil {
			err = failed
		}
		p.finish()
		return nil, err
	}
	return newStream(p, inner), nil
}

// requestHeaders returns the metadata that the RPC goes on with.
func (p *process) requestHeaders() (metadata.MD, error) {
	began := time.Now()
	md, _ := metadata.FromOutgoingContext(p.ctx)
	answer, err := p.ask(requestHeaders, p.headersEvent(md))
	if err != nil || answer == nil {
		return md, err
	}
	out, err := p.mutate(md, answer)
	if err == nil {
		p.record(clientHeaders, began)
	}
	return out, err
}
