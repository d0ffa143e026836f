// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
)

// stages are what may have happened to a stream and its channel.
var stages = []struct {
	name string
	do   func(p *probe.P, s *rig.Started, stream grpc.ClientStream, cancel context.CancelFunc)
}{
	{"open", func(*probe.P, *rig.Started, grpc.ClientStream, context.CancelFunc) {}},
	{"half closed", func(_ *probe.P, _ *rig.Started, stream grpc.ClientStream, _ context.CancelFunc) {
		_ = stream.CloseSend()
		probe.Settle(0) // the handler has ended then, and the trailers are there
	}},
	{"ended", func(_ *probe.P, _ *rig.Started, stream grpc.ClientStream, _ context.CancelFunc) {
		_ = stream.CloseSend()
		for stream.RecvMsg(new(rig.Msg)) == nil {
		}
	}},
	{"canceled", func(_ *probe.P, _ *rig.Started, stream grpc.ClientStream, cancel context.CancelFunc) {
		cancel()
		_ = stream.RecvMsg(new(rig.Msg))
	}},
	{"channel closed", func(_ *probe.P, s *rig.Started, stream grpc.ClientStream, _ context.CancelFunc) {
		_ = s.Close()
		_ = stream.RecvMsg(new(rig.Msg))
	}},
	{"server stopped", func(_ *probe.P, s *rig.Started, stream grpc.ClientStream, _ context.CancelFunc) {
		s.Server.Stop()
		_ = stream.RecvMsg(new(rig.Msg))
	}},
}

// operations are the calls that a program may make at each of these stages.
var operations = []struct {
	name string
	do   func(p *probe.P, s *rig.Started, stream grpc.ClientStream) string
}{
	{"send", func(_ *probe.P, _ *rig.Started, stream grpc.ClientStream) string {
		return rig.Err(stream.SendMsg(rig.M("x")))
	}},
	{"send nonsense", func(_ *probe.P, _ *rig.Started, stream grpc.ClientStream) string {
		return rig.Err(stream.SendMsg("x"))
	}},
	{"close twice", func(_ *probe.P, _ *rig.Started, stream grpc.ClientStream) string {
		_ = stream.CloseSend()
		return rig.Err(stream.CloseSend())
	}},
	{"trailer", func(_ *probe.P, _ *rig.Started, stream grpc.ClientStream) string {
		return rig.MD(stream.Trailer())
	}},
	{"context", func(_ *probe.P, _ *rig.Started, stream grpc.ClientStream) string {
		return fmt.Sprint(stream.Context().Err())
	}},
	{"close, receive twice", func(_ *probe.P, _ *rig.Started, stream grpc.ClientStream) string {
		_ = stream.CloseSend()
		first := stream.RecvMsg(new(rig.Msg))
		return rig.Err(first) + ", " + rig.Err(stream.RecvMsg(new(rig.Msg)))
	}},
	{"close, header", func(_ *probe.P, _ *rig.Started, stream grpc.ClientStream) string {
		_ = stream.CloseSend()
		md, err := stream.Header()
		return rig.MD(md) + " " + rig.Err(err)
	}},
	{"another call", func(p *probe.P, s *rig.Started, _ grpc.ClientStream) string {
		ctx, cancel := probe.WithTimeout(p.Context(), time.Second)
		defer cancel()
		return call(ctx, s)
	}},
	{"another stream", func(p *probe.P, s *rig.Started, _ grpc.ClientStream) string {
		ctx, cancel := probe.WithTimeout(p.Context(), time.Second)
		defer cancel()
		_, err := s.NewStream(ctx, rig.BidiDesc, rig.Bidi)
		return rig.Err(err)
	}},
}

// stageProbes are each operation in each stage.
func stageProbes() []probe.Probe {
	var out []probe.Probe
	for _, stage := range stages {
		for _, op := range operations {
			out = append(out, probe.Probe{Name: "stage/" + stage.name + "/" + op.name, Run: func(p *probe.P) {
				s := rig.Pair{}.Start(p)
				s.Ready(p)
				ctx, cancel := context.WithCancel(p.Context())
				defer cancel()
				stream, err := s.NewStream(ctx, rig.BidiDesc, rig.Bidi)
				if err != nil {
					p.Printf("%s", rig.Err(err))
					return
				}
				_ = stream.SendMsg(rig.M("first"))
				p.Printf("first %s", rig.Err(stream.RecvMsg(new(rig.Msg))))
				stage.do(p, s, stream, cancel)
				p.Printf("%s", op.do(p, s, stream))
			}})
		}
	}
	return out
}

// orderProbes look at the order of interceptors, and at metadata and compressors.
var orderProbes = []probe.Probe{
	{Name: "order/interceptors", Run: func(p *probe.P) {
		j, js := &journal{}, &journal{} // of the client and of the server: which comes first is chance
		unary := func(name string) grpc.UnaryClientInterceptor {
			return func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, next grpc.UnaryInvoker, opts ...grpc.CallOption) error {
				j.add("%s in %s %d options", name, method, len(opts))
				err := next(ctx, method, req, reply, cc, append(opts, grpc.WaitForReady(true))...)
				j.add("%s out %s", name, rig.Err(err))
				return err
			}
		}
		stream := func(name string) grpc.StreamClientInterceptor {
			return func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, next grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
				j.add("%s in %s %d options", name, method, len(opts))
				s, err := next(ctx, desc, cc, method, opts...)
				j.add("%s out %s", name, rig.Err(err))
				return s, err
			}
		}
		serverUnary := func(name string) grpc.UnaryServerInterceptor {
			return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
				js.add("%s in %s", name, info.FullMethod)
				reply, err := next(ctx, req)
				js.add("%s out %s", name, rig.Err(err))
				return reply, err
			}
		}
		serverStream := func(name string) grpc.StreamServerInterceptor {
			return func(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
				js.add("%s in %s %v %v", name, info.FullMethod, info.IsClientStream, info.IsServerStream)
				err := next(srv, ss)
				js.add("%s out %s", name, rig.Err(err))
				return err
			}
		}
		s := rig.Pair{
			Server: []grpc.ServerOption{
				grpc.ChainUnaryInterceptor(serverUnary("s2"), serverUnary("s3")), grpc.UnaryInterceptor(serverUnary("s1")), grpc.ChainUnaryInterceptor(serverUnary("s4")),
				grpc.ChainStreamInterceptor(serverStream("t2")), grpc.StreamInterceptor(serverStream("t1")), grpc.ChainStreamInterceptor(serverStream("t3")),
			},
			Dial: []grpc.DialOption{
				grpc.WithChainUnaryInterceptor(unary("c2"), unary("c3")), grpc.WithUnaryInterceptor(unary("c1")), grpc.WithChainUnaryInterceptor(unary("c4")),
				grpc.WithChainStreamInterceptor(stream("d2")), grpc.WithStreamInterceptor(stream("d1")), grpc.WithChainStreamInterceptor(stream("d3")),
				grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(1 << 20)),
			},
		}.Start(p)
		p.Printf("%s", call(p.Context(), s, grpc.UseCompressor(gzip.Name)))
		st := bidi(p, s)
		_ = st.CloseSend()
		p.Printf("%s", rig.Err(st.RecvMsg(new(rig.Msg))))
		probe.Settle(0)
		j.print(p)
		js.print(p)
	}},
	{Name: "order/metadata limits", Run: func(p *probe.P) {
		s := rig.Pair{Handlers: rig.Handlers{Unary: func(ctx context.Context, m *rig.Msg) (*rig.Msg, error) {
			md, _ := metadata.FromIncomingContext(ctx)
			if m.GetValue() == "back" {
				_ = grpc.SetHeader(ctx, metadata.MD{"big": md["big"]})
			}
			return rig.M(fmt.Sprint(len(strings.Join(md["big"], "")), " ", len(md["many"]))), nil
		}}}.Start(p)
		for _, n := range []int{1 << 10, 16 << 10, 64 << 10, 1 << 20, 8 << 20} {
			ctx := metadata.AppendToOutgoingContext(p.Context(), "big", strings.Repeat("x", n))
			for _, what := range []string{"there", "back"} {
				out := new(rig.Msg)
				err := s.Invoke(ctx, rig.Unary, rig.M(what), out)
				p.Printf("%d %s: %q %s", n, what, out.GetValue(), rig.Err(err))
			}
		}
		var many []string
		for range 5000 {
			many = append(many, "many", "x")
		}
		p.Printf("%s", call(metadata.AppendToOutgoingContext(p.Context(), many...), s))
	}},
	{Name: "order/wait for ready", Run: func(p *probe.P) {
		for _, wait := range []bool{false, true} {
			cc := dialOrSay(p, "127.0.0.1:1", grpc.WithTransportCredentials(insecure.NewCredentials()), quick)
			ctx, cancel := probe.WithTimeout(p.Context(), 300*time.Millisecond)
			err := cc.Invoke(ctx, rig.Unary, rig.M("q"), new(rig.Msg), grpc.WaitForReady(wait))
			cancel()
			p.Printf("%v %v", wait, strings.Contains(rig.Err(err), "connection refused"))
			text := rig.Err(err)
			if i := strings.Index(text, ": dial"); i > 0 {
				text = text[:i]
			}
			p.Printf("%s", text)
			p.Printf("%v", cc.GetState() != connectivity.Ready)
			_ = cc.Close()
		}
	}},
}
