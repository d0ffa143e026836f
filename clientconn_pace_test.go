// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/resolver"
)

// namingService answers each request at once. It counts them.
type namingService struct {
	addresses func(asked int64) []resolver.Address
	cc        resolver.ClientConn
	asked     atomic.Int64
	hangs     chan struct{} // ResolveNow returns when it is closed; nil: at once
}

// tooOften is when a naming service has been asked so often that the test has failed. It does
// not answer any more, so that the test ends.
const tooOften = 1000

func (*namingService) Scheme() string { return "naming" }

func (s *namingService) Build(_ resolver.Target, cc resolver.ClientConn, _ resolver.BuildOptions) (resolver.Resolver, error) {
	s.cc = cc
	return s, s.answer(0)
}

func (s *namingService) answer(n int64) error {
	return s.cc.UpdateState(resolver.State{Addresses: s.addresses(n)})
}

func (s *namingService) ResolveNow(resolver.ResolveNowOptions) {
	n := s.asked.Add(1)
	if s.hangs != nil {
		<-s.hangs
		return
	}
	if n < tooOften {
		_ = s.answer(n)
	}
}

func (*namingService) Close() {}

// outlive has an RPC wait for three seconds for a channel all of whose servers refuse.
func outlive(t *testing.T, s *namingService, policy string) {
	cc, err := NewClient("naming:///x", WithResolvers(s), WithTransportCredentials(insecure.NewCredentials()),
		WithDefaultServiceConfig(`{"loadBalancingConfig":[{"`+policy+`":{}}]}`),
		WithContextDialer(func(context.Context, string) (net.Conn, error) { return nil, errors.New("refused") }))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	if err := cc.Invoke(ctx, "/s/m", nil, nil, WaitForReady(true)); err == nil {
		t.Error("an RPC succeeded")
	}
	if s.hangs != nil {
		close(s.hangs)
	}
	cc.Close()
	synctest.Wait()
}

func TestResolverAnswersAtOnce(t *testing.T) {
	answers := map[string]func(int64) []resolver.Address{
		"the same": func(int64) []resolver.Address { return []resolver.Address{{Addr: "a"}, {Addr: "b"}} },
		// Each answer has the channel try an address that has no back-off.
		"others": func(n int64) []resolver.Address { return []resolver.Address{{Addr: fmt.Sprint("a", n)}} },
	}
	for name, addresses := range answers {
		for _, policy := range []string{"pick_first", "round_robin"} {
			t.Run(policy+" "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := &namingService{addresses: addresses}
					outlive(t, s, policy)
					if n := s.asked.Load(); n == 0 || n > 50 {
						t.Errorf("asked %d times in 3 s, want 1 to 50", n)
					}
				})
			})
		}
	}
}

func TestResolverNeverAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &namingService{
			addresses: func(int64) []resolver.Address { return []resolver.Address{{Addr: "a"}} },
			hangs:     make(chan struct{}),
		}
		outlive(t, s, "pick_first")
		if n := s.asked.Load(); n != 1 && n != 2 {
			t.Errorf("asked %d times, want once while it hangs, and once afterwards", n)
		}
	})
}
