// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
)

const retriesMost = `{"retryThrottling":{"maxTokens":4,"tokenRatio":0.1},"methodConfig":[` +
	`{"name":[{"service":"probe.Probe","method":"Unary"}]},` +
	`{"name":[{}],"retryPolicy":{"maxAttempts":3,"initialBackoff":"0.001s","maxBackoff":"0.001s","backoffMultiplier":1,"retryableStatusCodes":["INTERNAL","UNAVAILABLE"]}}]}`

// afterwards is a stats handler that waits for the end of the contexts of RPCs.
type afterwards struct {
	connContext
	ended chan string
}

func (a afterwards) TagRPC(ctx context.Context, i *stats.RPCTagInfo) context.Context {
	context.AfterFunc(ctx, func() { a.ended <- i.FullMethodName })
	return ctx
}

// attemptProbes count the attempts of RPCs with a retry policy.
var attemptProbes = []probe.Probe{
	{Name: "retries/OK without a message", Run: func(p *probe.P) {
		var attempts atomic.Int32
		s := rig.Pair{Dial: []grpc.DialOption{grpc.WithDefaultServiceConfig(retriesMost)}, Handlers: rig.Handlers{Stream: func(grpc.ServerStream) error {
			attempts.Add(1)
			return nil
		}}}.Start(p)
		err := s.Invoke(p.Context(), rig.Bidi, rig.M("q"), new(rig.Msg))
		p.Printf("Invoke: %s, %d attempts", rig.Err(err), attempts.Swap(0))
		st, err := s.NewStream(p.Context(), rig.ClientStreamDesc, rig.ClientStream)
		if err == nil {
			_ = st.SendMsg(rig.M("q"))
			_ = st.CloseSend()
			err = st.RecvMsg(new(rig.Msg))
		}
		p.Printf("client streaming: %s, %d attempts", rig.Err(err), attempts.Swap(0))
	}},
	{Name: "the context of an RPC ends with it", Run: func(p *probe.P) {
		a := afterwards{connContext{func(ctx context.Context) context.Context { return ctx }}, make(chan string, 9)}
		s := rig.Pair{Dial: []grpc.DialOption{grpc.WithStatsHandler(a)}}.Start(p)
		p.Printf("%s", call(context.Background(), s))
		select {
		case method := <-a.ended:
			p.Printf("ended: %s", method)
		case <-probe.Quiet(2 * time.Second):
			p.Printf("it does not end")
		}
	}},
	{Name: "retries/no pushback without a policy", Run: func(p *probe.P) {
		var attempts atomic.Int32
		s := rig.Pair{Dial: []grpc.DialOption{grpc.WithDefaultServiceConfig(retriesMost)}, Handlers: rig.Handlers{
			Unary: func(ctx context.Context, _ *rig.Msg) (*rig.Msg, error) {
				_ = grpc.SetTrailer(ctx, metadata.Pairs("grpc-retry-pushback-ms", "-1"))
				return nil, status.Error(codes.Unavailable, "no")
			},
			Stream: func(grpc.ServerStream) error {
				attempts.Add(1)
				return status.Error(codes.Unavailable, "later")
			},
		}}.Start(p)
		for range 2 {
			p.Printf("without a policy: %s", call(p.Context(), s))
		}
		err := s.Invoke(p.Context(), rig.Bidi, rig.M("q"), new(rig.Msg))
		p.Printf("with one: %s, %d attempts", rig.Err(err), attempts.Load())
	}},
}
