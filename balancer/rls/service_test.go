// SPDX-License-Identifier: Apache-2.0

package rls

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/internal/balancer/lbtest"
	"google.golang.org/grpc/internal/balancer/nesting"
	lookuppb "google.golang.org/grpc/internal/proto/grpc_lookup_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/grpc/status"
)

// TestServiceOfItself: the lookup service's own channel gets a configuration with the same lookup service.
func TestServiceOfItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		channels := 0
		r := manual.NewBuilderWithScheme("itself")
		r.BuildCallback = func(_ resolver.Target, cc resolver.ClientConn, _ resolver.BuildOptions) {
			channels++
			_ = cc.UpdateState(resolver.State{
				Addresses: []resolver.Address{{Addr: "nobody"}},
				ServiceConfig: cc.ParseServiceConfig(`{"loadBalancingConfig": [{"rls_experimental": {
					"routeLookupConfig": {"grpcKeybuilders": [{"names": [{"service": "s"}]}], "lookupService": "itself:///x", "cacheSizeBytes": "1000"},
					"childPolicy": [{"pick_first": {}}], "childPolicyConfigTargetFieldName": "t"}}]}`),
			})
		}
		resolver.Register(r)
		cc, err := grpc.NewClient("itself:///x", grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) {
			return nil, errors.New("nobody is there")
		}))
		if err != nil {
			t.Fatal(err)
		}
		defer cc.Close()
		err = cc.Invoke(t.Context(), "/s/m", nil, nil)
		if status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), nesting.ErrTooDeep.Error()) {
			t.Errorf("error %v", err)
		}
		synctest.Wait()
		if channels != 1+nesting.Most {
			t.Errorf("%d channels", channels)
		}
	})
}

// TestServiceIsMadeUnlocked: making the channel calls the program's code.
func TestServiceIsMadeUnlocked(t *testing.T) {
	b := builder{}.Build(&lbtest.ClientConn{}, balancer.BuildOptions{DialCreds: insecure.NewCredentials()}).(*lb)
	t.Cleanup(b.Close)
	built := 0
	r := manual.NewBuilderWithScheme("unlocked")
	r.BuildCallback = func(resolver.Target, resolver.ClientConn, resolver.BuildOptions) {
		built++
		if !b.mu.TryLock() {
			t.Error("a resolver is built with the balancer's lock held")
			return
		}
		b.mu.Unlock()
	}
	resolver.Register(r)
	config, err := builder{}.ParseConfig([]byte(`{"routeLookupConfig": {"grpcKeybuilders": [{"names": [{"service": "s"}]}],
		"lookupService": "unlocked:///x", "cacheSizeBytes": "1000"},
		"childPolicy": [{"rls_test_child": {}}], "childPolicyConfigTargetFieldName": "backend"}`))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := b.UpdateClientConnState(balancer.ClientConnState{BalancerConfig: config}); err != nil || built != 1 {
			t.Errorf("error %v, %d resolvers", err, built)
		}
	}
}

// TestUserAgentOfLookups: the channel to the service has a user agent of its own.
func TestUserAgentOfLookups(t *testing.T) {
	agents := make(chan []string, 1)
	l := newLookups(t, func(ctx context.Context, _ map[string]string) (*lookuppb.RouteLookupResponse, error) {
		agents <- metadata.ValueFromIncomingContext(ctx, "user-agent")
		return nil, status.Error(codes.Internal, "enough")
	})
	if _, err := newClient(t, l, "").call(t, "x"); err == nil {
		t.Error("no error")
	}
	if got := <-agents; len(got) != 1 || got[0] != "grpc-go/"+grpc.Version {
		t.Errorf("%q", got)
	}
}
