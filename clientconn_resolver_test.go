// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"errors"
	"net"
	"testing"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/grpc/serviceconfig"
)

// slowBuilder is asked to resolve again before it has built the resolver.
type slowBuilder struct {
	dialed chan struct{}
	asked  chan struct{}
}

func (*slowBuilder) Scheme() string { return "test" }

func (b *slowBuilder) Build(_ resolver.Target, cc resolver.ClientConn, _ resolver.BuildOptions) (resolver.Resolver, error) {
	_ = cc.UpdateState(resolver.State{Addresses: []resolver.Address{{Addr: "x"}}})
	<-b.dialed // the connection's failure asks for other addresses
	<-b.dialed
	return b, nil
}

func (b *slowBuilder) ResolveNow(resolver.ResolveNowOptions) {
	select {
	case b.asked <- struct{}{}:
	default:
	}
}

func (*slowBuilder) Close() {}

func TestResolveNowDuringBuild(t *testing.T) {
	b := &slowBuilder{dialed: make(chan struct{}), asked: make(chan struct{}, 1)}
	count := 0
	cc := newTestClient(t, "test:///x", WithResolvers(b), quickBackoff, WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
		if count++; count > 2 {
			<-ctx.Done() // from here on nothing asks but what was asked before
			return nil, ctx.Err()
		}
		b.dialed <- struct{}{}
		return nil, errors.New("nobody is there")
	}))
	cc.Connect()
	select {
	case <-b.asked:
	case <-testContext(t).Done():
		t.Error("the resolver was not asked again")
	}
}

// TestA21InvalidConfigBesideErrors: "if the service config is invalid and there is no previous one", RPCs fail. An error
// of the resolver, before that or in between, brings none.
func TestA21InvalidConfigBesideErrors(t *testing.T) {
	s := serve(t, newEcho())
	good := resolver.State{Addresses: []resolver.Address{{Addr: s.addr}}}
	bad := good
	bad.ServiceConfig = &serviceconfig.ParseResult{Err: errors.New("bad config")}
	for name, steps := range map[string][]*resolver.State{ // nil stands for an error
		"invalid, error, invalid": {&bad, nil, &bad},
		"error, invalid":          {nil, &bad},
		"error, error, invalid":   {nil, nil, &bad, &bad},
	} {
		t.Run(name, func(t *testing.T) {
			r := manual.NewBuilderWithScheme("test")
			cc := newTestClient(t, "test:///x", WithResolvers(r))
			built := make(chan struct{})
			r.BuildCallback = func(resolver.Target, resolver.ClientConn, resolver.BuildOptions) { close(built) }
			cc.Connect()
			<-built
			for _, step := range steps {
				if step == nil {
					r.CC().ReportError(errors.New("resolver broke"))
					continue
				}
				if err := r.CC().UpdateState(*step); err != balancer.ErrBadResolverState {
					t.Errorf("an invalid config: %v", err)
				}
				wantCode(t, "an RPC", call(testContext(t), cc, "x"), codes.Unavailable, "bad config")
			}
			if err := r.CC().UpdateState(good); err != nil {
				t.Error(err)
			}
			if err := call(testContext(t), cc, "x"); err != nil {
				t.Error(err)
			}
			// A21: now there is one.
			if err := r.CC().UpdateState(bad); err != balancer.ErrBadResolverState {
				t.Error(err)
			}
			if err := call(testContext(t), cc, "x"); err != nil {
				t.Error(err)
			}
		})
	}
}
