// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"errors"
	"net"
	"testing"

	"google.golang.org/grpc/resolver"
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
