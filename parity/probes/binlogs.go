// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/binarylog"
	binpb "google.golang.org/grpc/binarylog/grpc_binarylog_v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
	"google.golang.org/grpc/status"
)

// logFilters are values of GRPC_BINARY_LOG_FILTER, good ones and bad ones.
var logFilters = []string{
	"", " ", "*", "*{h}", "*{m}", "*{h;m}", "*{m;h}", "*{h:10}", "*{m:2}", "*{h:10;m:2}", "*{h:0}", "*{m:0}", "*{h:0;m:0}",
	"*{h:10;m}", "*{h;m:2}", "*{h:8;m:0}", "*{}", "*{h:}", "*{m:x}", "*{h:-1}", "*{x}", "*{h", "*h}", "*{h}{m}", "*{h:99999999999999999999}",
	"probe.Probe/*", "probe.Probe/*{h:10}", "probe.Probe/*{m:1}", "probe.Probe/Unary", "probe.Probe/Unary{h}", "probe.Probe/Unary{m:1}", "/probe.Probe/Unary",
	"probe.Probe", "probe.Probe/", "/Unary", "Unary", "other.Service/*", "other.Service/*,probe.Probe/Unary{h}",
	"-probe.Probe/Unary", "*,-probe.Probe/Unary", "*{h},-probe.Probe/Bidi", "-*", "-probe.Probe/*", "-probe.Probe/Unary{h}", "probe.Probe/*,-probe.Probe/Unary",
	"probe.Probe/Unary{h},probe.Probe/*{m}", "probe.Probe/Unary{h},probe.Probe/Unary{m}", "probe.Probe/*{h},probe.Probe/*{m}", "*{h},*{m}",
	"*,", ",*", "*, probe.Probe/Unary{h}", "* ", "probe.Probe/Unary,-probe.Probe/Unary", "-probe.Probe/Unary,-probe.Probe/Unary", "a/b/c", "*/*", "*/Unary", "probe.Probe/Un*",
}

// logCalls are calls that are logged whole.
var logCalls = []struct {
	name     string
	handlers rig.Handlers
	call     func(*probe.P, *rig.Started)
}{
	{"error", rig.Handlers{Unary: func(context.Context, *rig.Msg) (*rig.Msg, error) {
		return nil, status.Error(codes.NotFound, "n f")
	}}, unaryCall()},
	{"error after headers", rig.Handlers{Unary: func(ctx context.Context, _ *rig.Msg) (*rig.Msg, error) {
		_ = grpc.SendHeader(ctx, metadata.Pairs("h", "1"))
		_ = grpc.SetTrailer(ctx, metadata.Pairs("t", "1", "t-bin", "\x00"))
		return nil, status.Error(codes.Aborted, "ab")
	}}, unaryCall()},
	{"headers and trailers", rig.Handlers{Unary: func(ctx context.Context, m *rig.Msg) (*rig.Msg, error) {
		_ = grpc.SetHeader(ctx, metadata.Pairs("h", "1", "h-bin", "\x00"))
		_ = grpc.SetTrailer(ctx, metadata.Pairs("t", "1"))
		return m, nil
	}}, unaryCall()},
	{"gzip", rig.Handlers{}, unaryCall(grpc.UseCompressor(gzip.Name))},
	{"unknown method", rig.Handlers{}, func(p *probe.P, s *rig.Started) {
		p.Printf("%s", rig.Err(s.Invoke(p.Context(), "/probe.Probe/No", rig.M("x"), new(rig.Msg))))
	}},
	{"metadata", rig.Handlers{}, func(p *probe.P, s *rig.Started) {
		ctx := metadata.AppendToOutgoingContext(p.Context(), "a", "1", "a", "2", "a-bin", "\x00\x01", "lb-token", "x", "grpc-tags-bin", "t", "user-agent", "mine")
		p.Printf("%s", call(ctx, s))
	}},
	{"authority", rig.Handlers{}, unaryCall(grpc.CallAuthority("a.b"))},
	{"server stream", rig.Handlers{Stream: func(s grpc.ServerStream) error {
		_ = s.RecvMsg(new(rig.Msg))
		_ = s.SendMsg(rig.M("1"))
		return s.SendMsg(rig.M("2"))
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
	}},
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
	}},
	{"bidi that sends nothing", rig.Handlers{}, func(p *probe.P, s *rig.Started) {
		stream := bidi(p, s)
		_ = stream.CloseSend()
		p.Printf("%s", rig.Err(stream.RecvMsg(new(rig.Msg))))
	}},
	{"bidi that fails at once", rig.Handlers{Stream: func(grpc.ServerStream) error { return status.Error(codes.Aborted, "a") }}, func(p *probe.P, s *rig.Started) {
		p.Printf("%s", rig.Err(bidi(p, s).RecvMsg(new(rig.Msg))))
	}},
	{"closed channel", rig.Handlers{}, func(p *probe.P, s *rig.Started) {
		_ = s.Close()
		p.Printf("%s", call(p.Context(), s))
	}},
}

func binaryLogProbes() []probe.Probe {
	var out []probe.Probe
	for _, filter := range logFilters {
		out = append(out, probe.Probe{Name: "binarylog/filter " + filter, Env: []string{"GRPC_BINARY_LOG_FILTER=" + filter}, Run: func(p *probe.P) {
			logged := logTo(p)
			s := rig.Pair{TCP: true}.Start(p)
			s.Ready(p)
			ctx := metadata.AppendToOutgoingContext(p.Context(), "key-of-the-call", "value")
			_, _ = s.Call(ctx, "hello")
			stream, err := s.NewStream(ctx, rig.BidiDesc, rig.Bidi)
			if err == nil {
				_ = stream.SendMsg(rig.M("hello"))
				_ = stream.RecvMsg(new(rig.Msg))
				_ = stream.CloseSend()
				_ = stream.RecvMsg(new(rig.Msg))
			}
			logged(s)
		}})
	}
	for _, c := range logCalls {
		out = append(out, probe.Probe{Name: "binarylog/call " + c.name, Env: []string{"GRPC_BINARY_LOG_FILTER=*"}, Run: func(p *probe.P) {
			logged := logTo(p)
			s := rig.Pair{TCP: true, Handlers: c.handlers}.Start(p)
			s.Ready(p)
			c.call(p, s)
			logged(s)
		}})
	}
	return append(out, otherLogProbes...)
}

// logTo sets the sink; what it returns ends the pair and prints what was logged.
func logTo(p *probe.P) func(*rig.Started) {
	sink := &binSink{}
	binarylog.SetSink(sink)
	return func(s *rig.Started) {
		probe.Settle(0) // the server has ended then, too
		_ = s.Close()
		s.Server.GracefulStop()
		sink.print(p)
	}
}

var otherLogProbes = []probe.Probe{
	{Name: "binarylog/no filter", Env: []string{"PARITY=1"}, Run: func(p *probe.P) {
		logged := logTo(p)
		s := rig.Pair{}.Start(p)
		p.Printf("%s", call(p.Context(), s))
		logged(s)
	}},
	{Name: "binarylog/nil sink", Env: []string{"GRPC_BINARY_LOG_FILTER=*"}, Run: func(p *probe.P) {
		binarylog.SetSink(nil)
		p.Printf("%s", call(p.Context(), rig.Pair{}.Start(p)))
	}},
	{Name: "binarylog/temporary file", Env: []string{"GRPC_BINARY_LOG_FILTER=*"}, Run: func(p *probe.P) {
		sink, err := binarylog.NewTempFileSink()
		p.Printf("%s", rig.Err(err))
		binarylog.SetSink(sink)
		p.Printf("%s", call(p.Context(), rig.Pair{}.Start(p)))
		p.Printf("%s", rig.Err(sink.Close()))
	}},
	{Name: "binarylog/deadline", Env: []string{"GRPC_BINARY_LOG_FILTER=probe.Probe/*{h:100}"}, Run: func(p *probe.P) {
		sink := &binSink{}
		binarylog.SetSink(sink)
		s, _, ended := blocking(p)
		s.Ready(p)
		ctx, cancel := context.WithTimeout(p.Context(), 4*time.Second)
		defer cancel()
		// Which side's clock runs out first is a matter of timing.
		code, _, _ := strings.Cut(call(ctx, s), ":")
		p.Printf("%s", code)
		<-ended //nolint:errcheck // the client has told its code
		sink.mu.Lock()
		defer sink.mu.Unlock()
		var lines []string // whose comes first is a matter of timing, too
		for _, e := range sink.entries {
			if h := e.GetClientHeader(); h != nil {
				d := h.GetTimeout().AsDuration()
				lines = append(lines, fmt.Sprintf("%v timeout=%v", e.GetLogger(), d > 0 && d <= 2*time.Second))
			}
		}
		slices.Sort(lines)
		p.Printf("%s", strings.Join(lines, "\n"))
	}},
	{Name: "binarylog/retries", Env: []string{"GRPC_BINARY_LOG_FILTER=*"}, Run: func(p *probe.P) {
		logged := logTo(p)
		n := 0
		s := rig.Pair{
			TCP: true, Dial: []grpc.DialOption{grpc.WithDefaultServiceConfig(retryPolicy(goodRetry))},
			Handlers: rig.Handlers{Unary: func(context.Context, *rig.Msg) (*rig.Msg, error) {
				if n++; n < 3 {
					return nil, status.Errorf(codes.Unavailable, "attempt %d", n)
				}
				return rig.M("done"), nil
			}},
		}.Start(p)
		s.Ready(p)
		p.Printf("%s", call(p.Context(), s))
		logged(s)
	}},
	{Name: "binarylog/unary interceptors", Env: []string{"GRPC_BINARY_LOG_FILTER=*"}, Run: func(p *probe.P) {
		logged := logTo(p)
		s := rig.Pair{
			TCP: true,
			Dial: []grpc.DialOption{grpc.WithUnaryInterceptor(func(ctx context.Context, m string, req, rep any, cc *grpc.ClientConn, inv grpc.UnaryInvoker, o ...grpc.CallOption) error {
				return inv(metadata.AppendToOutgoingContext(ctx, "of-the-interceptor", "1"), m, rig.M("longer than it was"), rep, cc, o...)
			})},
			Server: []grpc.ServerOption{grpc.UnaryInterceptor(func(context.Context, any, *grpc.UnaryServerInfo, grpc.UnaryHandler) (any, error) {
				return rig.M("of the server's interceptor"), nil
			})},
		}.Start(p)
		s.Ready(p)
		p.Printf("%s", call(p.Context(), s))
		logged(s)
	}},
	{Name: "binarylog/deadline, unary", Env: []string{"GRPC_BINARY_LOG_FILTER=*"}, Run: func(p *probe.P) {
		lastLogged(p, func(ctx context.Context, s *rig.Started) { _ = call(ctx, s) })
	}},
	{Name: "binarylog/deadline, stream", Env: []string{"GRPC_BINARY_LOG_FILTER=*"}, Run: func(p *probe.P) {
		lastLogged(p, func(ctx context.Context, s *rig.Started) {
			if stream, err := s.NewStream(ctx, rig.BidiDesc, rig.Bidi); err == nil {
				_ = stream.RecvMsg(new(rig.Msg))
			}
		})
	}},
}

// lastLogged prints the end that the client logs of an RPC whose deadline passes. The server may tell it first.
func lastLogged(p *probe.P, call func(context.Context, *rig.Started)) {
	sink := &binSink{}
	binarylog.SetSink(sink)
	s, _, _ := blocking(p)
	s.Ready(p)
	ctx, cancel := context.WithTimeout(p.Context(), time.Second)
	defer cancel()
	call(ctx, s)
	probe.Settle(0)
	sink.mu.Lock()
	defer sink.mu.Unlock()
	for _, e := range sink.entries {
		if e.GetLogger() == binpb.GrpcLogEntry_LOGGER_CLIENT {
			p.Printf("%v %v", e.GetType(), codes.Code(e.GetTrailer().GetStatusCode()))
		}
	}
}
