// SPDX-License-Identifier: Apache-2.0

package connect_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	_ "google.golang.org/grpc/balancer/ringhash" // is named in a service config
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/experimental/connect"
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/internal/testservice"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

var plain = grpc.WithTransportCredentials(insecure.NewCredentials())

// nobody is an address where nobody listens.
func nobody(t *testing.T) string {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer lis.Close()
	return lis.Addr().String()
}

// NewClient returns a channel that is connected, and fails at once, or in time, if there is no
// server.
func TestWishConnectedClient(t *testing.T) {
	s := testservice.Start(t, &testservice.Functions{})
	cc, err := connect.NewClient(testservice.Context(t), s.Addr, nil, plain)
	if err != nil {
		t.Fatal(err)
	}
	defer cc.Close()
	if got := cc.GetState(); got != connectivity.Ready {
		t.Errorf("the channel is %v", got)
	}
	if err := connect.Wait(testservice.Context(t), cc); err != nil {
		t.Error(err)
	}

	_, err = connect.NewClient(testservice.Context(t), nobody(t), []connect.Option{connect.FailFast()}, plain)
	if err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("failing fast: %v", err)
	}

	ctx, cancel := context.WithCancelCause(context.Background())
	enough := errors.New("enough")
	_, err = connect.NewClient(ctx, nobody(t), nil, plain, connect.OnState(func(s connectivity.State, failure error) {
		if s == connectivity.TransientFailure && failure != nil {
			cancel(enough)
		}
	}))
	if !errors.Is(err, enough) || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("waiting: %v", err)
	}
	cancel(nil)

	if _, err := connect.NewClient(context.Background(), s.Addr, nil); err == nil {
		t.Error("a channel without credentials is made")
	}
}

// NewClient connects again where the channel is in IDLE: ring_hash is told to connect before it knows of a server, and a channel
// may go idle before there is one.
func TestConnectsAgain(t *testing.T) {
	s := testservice.Start(t, &testservice.Functions{})
	begun := make(chan struct{})
	late := manual.NewBuilderWithScheme("late")
	late.BuildCallback = func(resolver.Target, resolver.ClientConn, resolver.BuildOptions) { close(begun) }
	go func() {
		<-begun
		late.UpdateState(resolver.State{Addresses: []resolver.Address{{Addr: s.Addr}}})
	}()
	cc, err := connect.NewClient(testservice.Context(t), "late:///x", nil, plain, grpc.WithResolvers(late),
		grpc.WithDefaultServiceConfig(`{"loadBalancingConfig": [{"ring_hash_experimental": {"requestHashHeader": "h"}}]}`))
	if err != nil {
		t.Fatal("ring_hash:", err)
	}
	cc.Close()

	var idle atomic.Bool
	dial := func(ctx context.Context, addr string) (net.Conn, error) {
		if !idle.Load() {
			return nil, errors.New("not yet")
		}
		return new(net.Dialer).DialContext(ctx, "tcp", addr)
	}
	cc, err = connect.NewClient(testservice.Context(t), s.Addr, nil, plain, grpc.WithContextDialer(dial), grpc.WithIdleTimeout(20*time.Millisecond),
		connect.OnState(func(s connectivity.State, _ error) {
			if s == connectivity.Idle {
				idle.Store(true)
			}
		}))
	if err != nil {
		t.Fatal("an idle timeout:", err)
	}
	cc.Close()
}

// Wait ends with its context, and with the channel.
func TestWishWaitForReady(t *testing.T) {
	cc, err := grpc.NewClient(nobody(t), plain)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	if err := connect.Wait(ctx, cc); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	cc.Close()
	if err := connect.Wait(context.Background(), cc); !errors.Is(err, grpc.ErrClientConnClosing) {
		t.Error(err)
	}
	s := testservice.Start(t, &testservice.Functions{})
	cc, _ = s.Dial(t)
	if err := connect.Wait(testservice.Context(t), cc); err != nil || cc.GetState() != connectivity.Ready {
		t.Errorf("an idle channel is %v after the wait: %v", cc.GetState(), err)
	}
}

// All states are told, in order, to each listener of each channel.
func TestWishListenerForStates(t *testing.T) {
	s := testservice.Start(t, &testservice.Functions{})
	states := make(chan connectivity.State, 10)
	other := make(chan connectivity.State, 10)
	cc, err := connect.NewClient(testservice.Context(t), s.Addr, nil, plain,
		connect.OnState(func(s connectivity.State, _ error) { states <- s }),
		connect.OnState(func(s connectivity.State, _ error) { other <- s }))
	if err != nil {
		t.Fatal(err)
	}
	s.Stop()
	want := []connectivity.State{connectivity.Connecting, connectivity.Ready, connectivity.Idle}
	for i, ch := range []chan connectivity.State{states, other} {
		var got []connectivity.State
		for range want {
			got = append(got, testservice.Await(t, ch, "a state"))
		}
		if !slices.Equal(got, want) {
			t.Errorf("listener %d was told %v, want %v", i, got, want)
		}
	}
	cc.Close()
	if got := testservice.Await(t, states, "the end"); got != connectivity.Shutdown {
		t.Errorf("the last state is %v", got)
	}
}

// A program that wants its server at the start, and to know what becomes of the channel later.
func ExampleNewClient() {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer()
	go server.Serve(lis)
	defer server.Stop()

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	cc, err := connect.NewClient(ctx, lis.Addr().String(), []connect.Option{connect.FailFast()},
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		connect.OnState(func(s connectivity.State, failure error) {
			if s == connectivity.TransientFailure {
				log.Print(failure)
			}
		}))
	if err != nil {
		log.Fatal(err)
	}
	defer cc.Close()
	fmt.Println(cc.GetState())
	// Output: READY
}
