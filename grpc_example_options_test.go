// SPDX-License-Identifier: Apache-2.0

package grpc_test

import (
	"context"
	"fmt"
	"log"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	_ "google.golang.org/grpc/encoding/gzip" // registers the compressor
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
)

// flaky is not available the first times.
type flaky struct {
	shouter
	failures int32
	calls    *atomic.Int32
}

func (f flaky) UnaryCall(ctx context.Context, r *pb.SimpleRequest) (*pb.SimpleResponse, error) {
	if f.calls.Add(1) <= f.failures {
		return nil, status.Error(codes.Unavailable, "come back later")
	}
	return f.shouter.UnaryCall(ctx, r)
}

// A retry policy (gRFC A6) says which codes are worth another attempt.
func ExampleWithDefaultServiceConfig_retry() {
	f := flaky{failures: 2, calls: new(atomic.Int32)}
	target, stop := startService(f)
	defer stop()
	client, done := dial(target, grpc.WithDefaultServiceConfig(`{
		"methodConfig": [{
			"name": [{"service": "grpc.testing.TestService"}],
			"retryPolicy": {
				"maxAttempts": 4,
				"initialBackoff": "0.01s",
				"maxBackoff": "1s",
				"backoffMultiplier": 2,
				"retryableStatusCodes": ["UNAVAILABLE"]
			}
		}]
	}`))
	defer done()
	ctx, cancel := within()
	defer cancel()
	r, err := client.UnaryCall(ctx, say("at last"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(text(r), "after", f.calls.Load(), "attempts")
	// Output: AT LAST after 3 attempts
}

// A hedging policy sends an RPC again before the first attempt has failed, and takes the first
// answer. Only RPCs that may be carried out twice can be hedged.
func ExampleWithDefaultServiceConfig_hedging() {
	f := flaky{failures: 1, calls: new(atomic.Int32)}
	target, stop := startService(f)
	defer stop()
	client, done := dial(target, grpc.WithDefaultServiceConfig(`{
		"methodConfig": [{
			"name": [{"service": "grpc.testing.TestService", "method": "UnaryCall"}],
			"hedgingPolicy": {
				"maxAttempts": 3,
				"hedgingDelay": "0.5s",
				"nonFatalStatusCodes": ["UNAVAILABLE"]
			}
		}]
	}`))
	defer done()
	ctx, cancel := within()
	defer cancel()
	r, err := client.UnaryCall(ctx, say("quick"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(text(r))
	// Output: QUICK
}

// sleepy answers when the RPC is over.
type sleepy struct{ shouter }

func (sleepy) UnaryCall(ctx context.Context, _ *pb.SimpleRequest) (*pb.SimpleResponse, error) {
	<-ctx.Done()
	return nil, status.FromContextError(ctx.Err()).Err()
}

// A service config may say a timeout for each method; the context's deadline holds, too.
func ExampleWithDefaultServiceConfig_timeout() {
	target, stop := startService(sleepy{})
	defer stop()
	client, done := dial(target, grpc.WithDefaultServiceConfig(`{
		"methodConfig": [{"name": [{}], "timeout": "0.05s"}]
	}`))
	defer done()
	_, err := client.UnaryCall(context.Background(), say("hello?"))
	fmt.Println(status.Code(err))
	// Output: DeadlineExceeded
}

// round_robin spreads RPCs over all addresses. The resolver of the example has a fixed list; dns,
// which is the default, asks for all addresses of a name.
func ExampleWithDefaultServiceConfig_loadBalancing() {
	one, stopOne := start()
	defer stopOne()
	two, stopTwo := start()
	defer stopTwo()
	r := manual.NewBuilderWithScheme("fixed")
	r.InitialState(resolver.State{Addresses: []resolver.Address{{Addr: one}, {Addr: two}}})
	client, done := dial("fixed:///", grpc.WithResolvers(r),
		grpc.WithDefaultServiceConfig(`{"loadBalancingConfig": [{"round_robin": {}}]}`))
	defer done()
	ctx, cancel := within()
	defer cancel()
	seen := map[string]bool{}
	for len(seen) < 2 {
		var p peer.Peer
		if _, err := client.UnaryCall(ctx, say("hi"), grpc.Peer(&p)); err != nil {
			log.Fatal(err)
		}
		seen[p.Addr.String()] = true
	}
	fmt.Println("both servers:", seen[one] && seen[two])
	// Output: both servers: true
}

// A resolver turns a target into addresses. This one is made by the program, and changes its mind.
func ExampleWithResolvers() {
	target, stop := start()
	defer stop()
	r := manual.NewBuilderWithScheme("mine")
	r.InitialState(resolver.State{}) // no address yet
	client, done := dial("mine:///shouter", grpc.WithResolvers(r))
	defer done()
	ctx, cancel := within()
	defer cancel()
	_, err := client.UnaryCall(ctx, say("hi"))
	fmt.Println(status.Code(err))

	r.UpdateState(resolver.State{Addresses: []resolver.Address{{Addr: target}}})
	reply, err := client.UnaryCall(ctx, say("hi"), grpc.WaitForReady(true))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(text(reply))
	// Output:
	// Unavailable
	// HI
}

// Both sides may ask now and then whether the other is still there. A server refuses clients that ask
// more often than its policy allows.
func ExampleWithKeepaliveParams() {
	target, stop := start(
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: time.Minute, MaxConnectionAge: time.Hour}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 20 * time.Second, PermitWithoutStream: true}),
	)
	defer stop()
	client, done := dial(target, grpc.WithKeepaliveParams(keepalive.ClientParameters{
		Time: 30 * time.Second, Timeout: 10 * time.Second, PermitWithoutStream: true,
	}))
	defer done()
	ctx, cancel := within()
	defer cancel()
	r, err := client.UnaryCall(ctx, say("still there?"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(text(r))
	// Output: STILL THERE?
}

// sizes is a stats handler that notes how large requests are on the wire.
type sizes struct{ sent chan *stats.OutPayload }

func (sizes) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (sizes) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (sizes) HandleConn(context.Context, stats.ConnStats)                       {}
func (s sizes) HandleRPC(_ context.Context, event stats.RPCStats) {
	if p, ok := event.(*stats.OutPayload); ok {
		s.sent <- p
	}
}

// Messages are compressed by one of the compressors that the program has registered.
func ExampleUseCompressor() {
	target, stop := start()
	defer stop()
	s := sizes{make(chan *stats.OutPayload, 1)}
	client, done := dial(target, grpc.WithStatsHandler(s))
	defer done()
	ctx, cancel := within()
	defer cancel()
	zeros := &pb.SimpleRequest{Payload: &pb.Payload{Body: make([]byte, 10000)}}
	if _, err := client.UnaryCall(ctx, zeros, grpc.UseCompressor("gzip")); err != nil {
		log.Fatal(err)
	}
	p := <-s.sent
	fmt.Println(p.Length > 10000, p.CompressedLength < 200)
	// Output: true true
}

// counting counts RPCs that have ended, by their codes.
type counting struct{ ended chan codes.Code }

func (counting) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (counting) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (counting) HandleConn(context.Context, stats.ConnStats)                       {}
func (c counting) HandleRPC(_ context.Context, event stats.RPCStats) {
	if e, ok := event.(*stats.End); ok {
		c.ended <- status.Code(e.Error)
	}
}

// A stats handler is told of each RPC's events: spans and metrics are made of these.
func ExampleStatsHandler() {
	c := counting{make(chan codes.Code, 2)}
	target, stop := start(grpc.StatsHandler(c))
	defer stop()
	client, done := dial(target)
	defer done()
	ctx, cancel := within()
	defer cancel()
	for _, text := range []string{"hi", ""} {
		_, _ = client.UnaryCall(ctx, say(text))
		fmt.Print(<-c.ended, " ") // the server is told soon after the client
	}
	// Output: OK InvalidArgument
}

// echoing answers with what the client's metadata says, and sets some of its own.
type echoing struct{ shouter }

func (e echoing) UnaryCall(ctx context.Context, _ *pb.SimpleRequest) (*pb.SimpleResponse, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	if err := grpc.SetHeader(ctx, metadata.Pairs("served-by", "example")); err != nil {
		return nil, err
	}
	if err := grpc.SetTrailer(ctx, metadata.Pairs("cost", "7")); err != nil {
		return nil, err
	}
	return &pb.SimpleResponse{Payload: payload(md.Get("request-id")[0])}, nil
}

// Metadata goes both ways beside the messages. Keys are in lower case.
func Example_metadata() {
	target, stop := startService(echoing{})
	defer stop()
	client, done := dial(target)
	defer done()
	ctx, cancel := within()
	defer cancel()
	ctx = metadata.AppendToOutgoingContext(ctx, "request-id", "42")
	var header, trailer metadata.MD
	r, err := client.UnaryCall(ctx, say("hi"), grpc.Header(&header), grpc.Trailer(&trailer))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(text(r), header["served-by"], trailer["cost"])
	// Output: 42 [example] [7]
}
