// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
)

// recorder writes down events, the RPC's and the connection's apart.
type recorder struct {
	mu    sync.Mutex
	rpcs  []string
	conns []string
	ends  chan struct{} // one for each RPC that ended
}

func newRecorder() *recorder { return &recorder{ends: make(chan struct{}, 100)} }

func (r *recorder) TagRPC(ctx context.Context, i *stats.RPCTagInfo) context.Context {
	r.add(&r.rpcs, fmt.Sprintf("TagRPC %s failfast=%v resolution=%v", i.FullMethodName, i.FailFast, i.NameResolutionDelay))
	return stats.SetTags(ctx, []byte("tag"))
}

func (r *recorder) TagConn(ctx context.Context, i *stats.ConnTagInfo) context.Context {
	r.add(&r.conns, fmt.Sprintf("TagConn local=%T remote=%T", i.LocalAddr, i.RemoteAddr))
	return ctx
}

func (r *recorder) HandleConn(_ context.Context, s stats.ConnStats) {
	r.add(&r.conns, fmt.Sprintf("%T client=%v", s, s.IsClient()))
}

func (r *recorder) HandleRPC(_ context.Context, s stats.RPCStats) {
	r.add(&r.rpcs, rpcEvent(s))
	if _, ended := s.(*stats.End); ended {
		r.ends <- struct{}{}
	}
}

func (r *recorder) add(list *[]string, line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	*list = append(*list, line)
}

// printConns prints the events of connections once all have come.
func (r *recorder) printConns(p *probe.P) {
	probe.Settle(0)
	r.mu.Lock()
	defer r.mu.Unlock()
	p.Printf("%q", r.conns)
}

// print prints the events under a title, once all have come. Trailers come beside the messages before
// them, in any order: they are printed before what came last. So does the first message of a client
// beside what it gets: it is printed before.
func (r *recorder) print(p *probe.P, title string) {
	probe.Settle(0)
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.IndexFunc(r.rpcs, func(e string) bool { return strings.HasPrefix(e, "OutPayload client=true") }); i > 0 {
		for ; strings.HasPrefix(r.rpcs[i-1], "In"); i-- {
			r.rpcs[i-1], r.rpcs[i] = r.rpcs[i], r.rpcs[i-1]
		}
	}
	var trailers []string
	for i, e := range r.rpcs {
		if strings.HasPrefix(e, "InTrailer") {
			trailers = append(trailers, e)
			continue
		}
		if strings.HasPrefix(e, "End") || i == len(r.rpcs)-1 {
			for _, t := range trailers {
				p.Printf("%s: %s", title, t)
			}
			trailers = nil
		}
		p.Printf("%s: %s", title, e)
	}
}

func rpcEvent(s stats.RPCStats) string {
	name := strings.TrimPrefix(fmt.Sprintf("%T", s), "*stats.")
	out := fmt.Sprintf("%s client=%v", name, s.IsClient())
	switch s := s.(type) {
	case *stats.Begin:
		out += fmt.Sprintf(" failfast=%v streams=%v,%v transparent=%v time=%v", s.FailFast, s.IsClientStream, s.IsServerStream,
			s.IsTransparentRetryAttempt, !s.BeginTime.IsZero())
	case *stats.InPayload:
		out += fmt.Sprintf(" %v length=%d compressed=%d wire=%d time=%v", s.Payload, s.Length, s.CompressedLength, s.WireLength, !s.RecvTime.IsZero())
	case *stats.OutPayload:
		out += fmt.Sprintf(" %v length=%d compressed=%d wire=%d time=%v", s.Payload, s.Length, s.CompressedLength, s.WireLength, !s.SentTime.IsZero())
	case *stats.InHeader:
		out += fmt.Sprintf(" wire=%v compression=%q header=%s method=%q remote=%v local=%v", s.WireLength > 0, s.Compression, rig.MD(s.Header), s.FullMethod,
			s.RemoteAddr != nil, s.LocalAddr != nil)
	case *stats.OutHeader:
		out += fmt.Sprintf(" compression=%q header=%s method=%q remote=%v local=%v", s.Compression, rig.MD(s.Header), s.FullMethod, s.RemoteAddr != nil, s.LocalAddr != nil)
	case *stats.InTrailer:
		out += fmt.Sprintf(" wire=%v trailer=%s", s.WireLength > 0, rig.MD(s.Trailer))
	case *stats.OutTrailer:
		out += fmt.Sprintf(" wire=%v trailer=%s", s.WireLength > 0, rig.MD(s.Trailer))
	case *stats.End:
		out += fmt.Sprintf(" err=%s trailer=%s times=%v,%v", rig.Err(s.Error), rig.MD(s.Trailer), !s.BeginTime.IsZero(), !s.EndTime.IsZero())
	}
	return out
}

// statsCalls are calls whose events are compared.
var statsCalls = []struct {
	name     string
	handlers rig.Handlers
	call     func(*probe.P, *rig.Started)
	timing   bool // it decides what the server sees of it
}{
	{"unary", rig.Handlers{}, unaryCall(), false},
	{"unary gzip", rig.Handlers{}, unaryCall(grpc.UseCompressor(gzip.Name)), false},
	{"unary error", rig.Handlers{Unary: func(context.Context, *rig.Msg) (*rig.Msg, error) {
		return nil, status.Error(codes.NotFound, "nf")
	}}, unaryCall(), false},
	{"unary headers and trailers", rig.Handlers{Unary: func(ctx context.Context, m *rig.Msg) (*rig.Msg, error) {
		_ = grpc.SetHeader(ctx, metadata.Pairs("h", "1"))
		_ = grpc.SetTrailer(ctx, metadata.Pairs("t", "1"))
		return m, nil
	}}, unaryCall(), false},
	{"unary header, error", rig.Handlers{Unary: func(ctx context.Context, _ *rig.Msg) (*rig.Msg, error) {
		_ = grpc.SendHeader(ctx, metadata.Pairs("h", "1"))
		return nil, status.Error(codes.NotFound, "nf")
	}}, unaryCall(), false},
	{"unary wait for ready", rig.Handlers{}, unaryCall(grpc.WaitForReady(true)), false},
	{"unary too large to send", rig.Handlers{}, unaryCall(grpc.MaxCallSendMsgSize(1)), true},
	{"unary unknown codec", rig.Handlers{}, unaryCall(grpc.CallContentSubtype("nope")), false},
	{"unary unknown compressor", rig.Handlers{}, unaryCall(grpc.UseCompressor("nope")), false},
	{"unary not a message", rig.Handlers{}, func(p *probe.P, s *rig.Started) {
		p.Printf("%s", rig.Err(s.Invoke(p.Context(), rig.Unary, "x", new(rig.Msg))))
	}, true},
	{"unary bad metadata", rig.Handlers{}, func(p *probe.P, s *rig.Started) {
		_, err := s.Call(metadata.NewOutgoingContext(p.Context(), metadata.MD{"a b": {"x"}}), "")
		p.Printf("%s", rig.Err(err))
	}, false},
	{"unary closed channel", rig.Handlers{}, func(p *probe.P, s *rig.Started) {
		_ = s.Close()
		_, err := s.Call(p.Context(), "")
		p.Printf("%s", rig.Err(err))
	}, false},
	{"unary canceled before", rig.Handlers{}, func(p *probe.P, s *rig.Started) {
		ctx, cancel := context.WithCancel(p.Context())
		cancel()
		_, err := s.Call(ctx, "")
		p.Printf("%s", rig.Err(err))
	}, false},
	{"unary metadata", rig.Handlers{}, func(p *probe.P, s *rig.Started) {
		_, err := s.Call(metadata.AppendToOutgoingContext(p.Context(), "k", "v", "k-bin", "\x00"), "")
		p.Printf("%s", rig.Err(err))
	}, false},
	{"unknown method", rig.Handlers{}, func(p *probe.P, s *rig.Started) {
		p.Printf("%s", rig.Err(s.Invoke(p.Context(), "/probe.Probe/No", rig.M("x"), new(rig.Msg))))
	}, false},
	{"unknown service", rig.Handlers{}, func(p *probe.P, s *rig.Started) {
		p.Printf("%s", rig.Err(s.Invoke(p.Context(), "/no.Such/No", rig.M("x"), new(rig.Msg))))
	}, false},
	{"bidi", rig.Handlers{}, func(p *probe.P, s *rig.Started) {
		stream, err := s.NewStream(p.Context(), rig.BidiDesc, rig.Bidi)
		if err != nil {
			p.Printf("%s", rig.Err(err))
			return
		}
		for range 2 {
			_ = stream.SendMsg(rig.M("m"))
			_ = stream.RecvMsg(new(rig.Msg))
		}
		_ = stream.CloseSend()
		p.Printf("%s", rig.Err(stream.RecvMsg(new(rig.Msg))))
	}, false},
	{"bidi without messages", rig.Handlers{}, func(p *probe.P, s *rig.Started) {
		stream, err := s.NewStream(p.Context(), rig.BidiDesc, rig.Bidi)
		if err == nil {
			_ = stream.CloseSend()
			err = stream.RecvMsg(new(rig.Msg))
		}
		p.Printf("%s", rig.Err(err))
	}, false},
	{"server stream error after a message", rig.Handlers{Stream: func(s grpc.ServerStream) error {
		_ = s.RecvMsg(new(rig.Msg))
		_ = s.SendMsg(rig.M("m"))
		return status.Error(codes.Aborted, "a")
	}}, func(p *probe.P, s *rig.Started) {
		stream, err := s.NewStream(p.Context(), rig.ServerStreamDesc, rig.ServerStream)
		if err == nil {
			_ = stream.SendMsg(rig.M("q"))
			_ = stream.CloseSend()
			for err == nil {
				err = stream.RecvMsg(new(rig.Msg))
			}
		}
		p.Printf("%s", rig.Err(err))
	}, false},
	{"client stream", rig.Handlers{Stream: func(s grpc.ServerStream) error {
		for s.RecvMsg(new(rig.Msg)) == nil {
		}
		return s.SendMsg(rig.M("sum"))
	}}, func(p *probe.P, s *rig.Started) {
		stream, err := s.NewStream(p.Context(), rig.ClientStreamDesc, rig.ClientStream)
		if err == nil {
			_ = stream.SendMsg(rig.M("1"))
			_ = stream.SendMsg(rig.M("2"))
			_ = stream.CloseSend()
			err = stream.RecvMsg(new(rig.Msg))
		}
		p.Printf("%s", rig.Err(err))
	}, false},
	{"stream canceled", rig.Handlers{Stream: func(s grpc.ServerStream) error {
		_ = s.SendHeader(nil)
		<-s.Context().Done()
		return s.Context().Err()
	}}, func(p *probe.P, s *rig.Started) {
		ctx, cancel := context.WithCancel(p.Context())
		stream, err := s.NewStream(ctx, rig.BidiDesc, rig.Bidi)
		if err == nil {
			_, _ = stream.Header()
			cancel()
			err = stream.RecvMsg(new(rig.Msg))
		}
		cancel()
		p.Printf("%s", rig.Err(err))
	}, false},
	{"stream of a handler that panics not", rig.Handlers{Stream: func(grpc.ServerStream) error { return io.EOF }}, func(p *probe.P, s *rig.Started) {
		stream, err := s.NewStream(p.Context(), rig.BidiDesc, rig.Bidi)
		if err == nil {
			err = stream.RecvMsg(new(rig.Msg))
		}
		p.Printf("%s", rig.Err(err))
	}, false},
}

func unaryCall(opts ...grpc.CallOption) func(*probe.P, *rig.Started) {
	return func(p *probe.P, s *rig.Started) {
		got, err := s.Call(p.Context(), "hello", opts...)
		p.Printf("%q %s", got, rig.Err(err))
	}
}

func statsProbes() []probe.Probe {
	var out []probe.Probe
	for _, c := range statsCalls {
		out = append(out, probe.Probe{Name: "events of " + c.name, Run: func(p *probe.P) {
			client, server := newRecorder(), newRecorder()
			s := rig.Pair{
				Handlers: c.handlers, TCP: true,
				Server: []grpc.ServerOption{grpc.StatsHandler(server)}, Dial: []grpc.DialOption{grpc.WithStatsHandler(client)},
			}.Start(p)
			s.Ready(p)
			c.call(p, s)
			_ = s.Close()
			s.Server.GracefulStop()
			client.print(p, "client")
			if !c.timing {
				server.print(p, "server")
			}
		}})
	}
	return append(out, otherStatsProbes...)
}

var otherStatsProbes = []probe.Probe{
	{Name: "of connections", Run: func(p *probe.P) {
		client, server := newRecorder(), newRecorder()
		s := rig.Pair{
			TCP:    true,
			Server: []grpc.ServerOption{grpc.StatsHandler(server)}, Dial: []grpc.DialOption{grpc.WithStatsHandler(client)},
		}.Start(p)
		s.Ready(p)
		_, _ = s.Call(p.Context(), "")
		_ = s.Close()
		s.Server.GracefulStop()
		client.printConns(p)
		server.printConns(p)
	}},
	{Name: "two handlers in order", Run: func(p *probe.P) {
		first, second := newRecorder(), newRecorder()
		s := rig.Pair{Dial: []grpc.DialOption{grpc.WithStatsHandler(first), grpc.WithStatsHandler(second)}}.Start(p)
		s.Ready(p)
		_, _ = s.Call(p.Context(), "")
		first.print(p, "first")
		second.print(p, "second")
	}},
	{Name: "tags on the wire", Run: func(p *probe.P) {
		s := rig.Pair{
			Dial: []grpc.DialOption{grpc.WithStatsHandler(newRecorder())},
			Handlers: rig.Handlers{Unary: func(ctx context.Context, _ *rig.Msg) (*rig.Msg, error) {
				md, _ := metadata.FromIncomingContext(ctx)
				return rig.M(fmt.Sprintf("%q %q %s", stats.Tags(ctx), stats.Trace(ctx), rig.MD(md))), nil
			}},
		}.Start(p)
		got, err := s.Call(stats.SetTrace(p.Context(), []byte("trace")), "")
		p.Printf("%s %s", got, rig.Err(err))
	}},
	{Name: "retried call", Run: func(p *probe.P) {
		client := newRecorder()
		var mu sync.Mutex
		n := 0
		s := rig.Pair{
			Dial: []grpc.DialOption{grpc.WithStatsHandler(client), grpc.WithDefaultServiceConfig(retryPolicy(goodRetry))},
			Handlers: rig.Handlers{Unary: func(_ context.Context, m *rig.Msg) (*rig.Msg, error) {
				mu.Lock()
				defer mu.Unlock()
				if n++; n < 3 {
					return nil, status.Errorf(codes.Unavailable, "attempt %d", n)
				}
				return m, nil
			}},
		}.Start(p)
		s.Ready(p)
		got, err := s.Call(p.Context(), "x")
		p.Printf("%q %s", got, rig.Err(err))
		client.print(p, "client")
	}},
	{Name: "call that waits for ready", Run: func(p *probe.P) {
		client := newRecorder()
		cc := channelTo(p, "127.0.0.1:1", grpc.WithStatsHandler(client))
		ctx, cancel := context.WithCancel(p.Context())
		go func() {
			defer cancel()
			for s := cc.GetState(); s != connectivity.TransientFailure; s = cc.GetState() {
				if !cc.WaitForStateChange(ctx, s) {
					return
				}
			}
		}()
		err := cc.Invoke(ctx, rig.Unary, rig.M(""), new(rig.Msg), grpc.WaitForReady(true))
		p.Printf("%v", status.Code(err))
		client.mu.Lock()
		defer client.mu.Unlock()
		for _, l := range client.rpcs {
			name, _, _ := strings.Cut(l, " ")
			p.Printf("%s", name)
		}
	}},
}
