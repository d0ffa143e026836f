// SPDX-License-Identifier: Apache-2.0

package experimental_test

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/experimental"
	"google.golang.org/grpc/experimental/connect"
	"google.golang.org/grpc/internal/testservice"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/grpc/status"
)

// closing is a server that speaks HTTP/2 and closes each connection. It returns its address and how
// many it has had.
func closing(t *testing.T) (addr string, dials *atomic.Int32) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dials = new(atomic.Int32)
	served := make(chan struct{})
	go func() {
		defer close(served)
		for {
			c, err := lis.Accept()
			if err != nil {
				return
			}
			dials.Add(1)
			_, _ = c.Write([]byte{0, 0, 0, 4, 0, 0, 0, 0, 0}) // SETTINGS
			_, _ = c.Read(make([]byte, 1024))
			c.Close()
		}
	}()
	t.Cleanup(func() { lis.Close(); <-served })
	return lis.Addr().String(), dials
}

// Connections that are lost soon after they were made are followed by the back-off.
func TestWishBackOffAfterEarlyLoss(t *testing.T) {
	addr, dials := closing(t)
	failed := make(chan error, 100)
	cc, err := grpc.NewClient("passthrough:///"+addr,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.Config{BaseDelay: time.Hour, Multiplier: 1, MaxDelay: time.Hour}, MinConnectTimeout: time.Minute}),
		experimental.WithStableAfter(time.Minute),
		connect.OnState(func(s connectivity.State, failure error) {
			if s == connectivity.TransientFailure {
				failed <- failure
			}
		}))
	if err != nil {
		t.Fatal(err)
	}
	defer cc.Close()
	cc.Connect()
	if err := testservice.Await(t, failed, "the failure"); err == nil {
		t.Error("the failure has no reason")
	}
	client := testpb.NewTestServiceClient(cc)
	for range 20 {
		if _, err := client.EmptyCall(testservice.Context(t), &testpb.Empty{}); status.Code(err) != codes.Unavailable {
			t.Fatal(err)
		}
	}
	if n := dials.Load(); n != 1 {
		t.Errorf("the server was dialed %d times during the pause", n)
	}
}

// A connection that has lived for long enough ends the back-off.
func TestWishStableConnectionEndsBackOff(t *testing.T) {
	s := testservice.Start(t, &testservice.Functions{})
	states := make(chan connectivity.State, 100)
	cc, _ := s.Dial(t, experimental.WithStableAfter(time.Nanosecond),
		connect.OnState(func(s connectivity.State, _ error) { states <- s }))
	if err := connect.Wait(testservice.Context(t), cc); err != nil {
		t.Fatal(err)
	}
	if _, err := testpb.NewTestServiceClient(cc).EmptyCall(testservice.Context(t), &testpb.Empty{}); err != nil {
		t.Fatal(err) // the timer has run long since
	}
	s.Stop()
	for range 2 {
		testservice.Await(t, states, "a state")
	}
	if got := testservice.Await(t, states, "the loss"); got != connectivity.Idle {
		t.Errorf("after the loss the channel is %v", got)
	}
}

// The resolver is asked to look again although nothing fails.
func TestWishResolvedNowAndThen(t *testing.T) {
	s := testservice.Start(t, &testservice.Functions{})
	asked := make(chan struct{}, 100)
	r := manual.NewBuilderWithScheme("now-and-then")
	r.InitialState(resolver.State{Addresses: []resolver.Address{{Addr: s.Addr}}})
	r.ResolveNowCallback = func(resolver.ResolveNowOptions) { asked <- struct{}{} }
	cc, err := grpc.NewClient("now-and-then:///", grpc.WithResolvers(r),
		grpc.WithTransportCredentials(insecure.NewCredentials()), experimental.WithResolveInterval(time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer cc.Close()
	if err := connect.Wait(testservice.Context(t), cc); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		testservice.Await(t, asked, "a request to resolve")
	}
}

// A new server is found, and gets RPCs, without any failure; a channel without a resolver that looks
// anything up is asked nothing.
func TestWishNewServersAreFound(t *testing.T) {
	one, two := make(chan struct{}, 100), make(chan struct{}, 100)
	tells := func(c chan struct{}) *testservice.Functions {
		return &testservice.Functions{Empty: func(context.Context) error {
			select {
			case c <- struct{}{}:
			default:
			}
			return nil
		}}
	}
	first, second := testservice.Start(t, tells(one)), testservice.Start(t, tells(two))
	r := manual.NewBuilderWithScheme("grows")
	state := resolver.State{Addresses: []resolver.Address{{Addr: first.Addr}}}
	r.InitialState(state)
	grown := resolver.State{Addresses: append(state.Addresses, resolver.Address{Addr: second.Addr})}
	r.ResolveNowCallback = func(resolver.ResolveNowOptions) { go r.UpdateState(grown) }
	cc, err := grpc.NewClient("grows:///", grpc.WithResolvers(r), grpc.WithDefaultServiceConfig(`{"loadBalancingConfig":[{"round_robin":{}}]}`),
		grpc.WithTransportCredentials(insecure.NewCredentials()), experimental.WithResolveInterval(20*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer cc.Close()
	client, ctx := testpb.NewTestServiceClient(cc), testservice.Context(t)
	for len(two) == 0 {
		if _, err := client.EmptyCall(ctx, &testpb.Empty{}); err != nil {
			t.Fatal(err)
		}
	}
	if len(one) == 0 {
		t.Error("the first server got nothing")
	}
}

func ExampleWithStableAfter() {
	cc, err := grpc.NewClient("orders:443", grpc.WithTransportCredentials(insecure.NewCredentials()),
		experimental.WithStableAfter(10*time.Second), experimental.WithResolveInterval(5*time.Minute))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer cc.Close()
	fmt.Println(cc.GetState())
	// Output: IDLE
}

func ExampleWithTCPProbes() {
	cc, err := grpc.NewClient("orders:443", grpc.WithTransportCredentials(insecure.NewCredentials()),
		experimental.WithTCPProbes(net.KeepAliveConfig{Enable: true, Idle: time.Minute, Interval: 10 * time.Second, Count: 3}))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer cc.Close()
	fmt.Println(cc.GetState())
	// Output: IDLE
}
