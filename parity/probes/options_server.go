// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
)

// serverOptions are all of them, some with odd values.
var serverOptions = []struct {
	name   string
	option func() grpc.ServerOption
}{
	{"none", func() grpc.ServerOption { return grpc.EmptyServerOption{} }},
	{"ReadBufferSize 0", func() grpc.ServerOption { return grpc.ReadBufferSize(0) }},
	{"ReadBufferSize -1", func() grpc.ServerOption { return grpc.ReadBufferSize(-1) }},
	{"ReadBufferSize 7", func() grpc.ServerOption { return grpc.ReadBufferSize(7) }},
	{"WriteBufferSize 0", func() grpc.ServerOption { return grpc.WriteBufferSize(0) }},
	{"WriteBufferSize -1", func() grpc.ServerOption { return grpc.WriteBufferSize(-1) }},
	{"WriteBufferSize 9", func() grpc.ServerOption { return grpc.WriteBufferSize(9) }},
	{"SharedWriteBuffer", func() grpc.ServerOption { return grpc.SharedWriteBuffer(true) }},
	{"InitialWindowSize 0", func() grpc.ServerOption { return grpc.InitialWindowSize(0) }},
	{"InitialWindowSize -1", func() grpc.ServerOption { return grpc.InitialWindowSize(-1) }},
	{"InitialWindowSize 1M", func() grpc.ServerOption { return grpc.InitialWindowSize(1 << 20) }},
	{"InitialConnWindowSize -1", func() grpc.ServerOption { return grpc.InitialConnWindowSize(-1) }},
	{"InitialConnWindowSize 1M", func() grpc.ServerOption { return grpc.InitialConnWindowSize(1 << 20) }},
	{"StaticStreamWindowSize 100", func() grpc.ServerOption { return grpc.StaticStreamWindowSize(100) }},
	{"StaticConnWindowSize 100", func() grpc.ServerOption { return grpc.StaticConnWindowSize(100) }},
	{"KeepaliveParams zero", func() grpc.ServerOption { return grpc.KeepaliveParams(keepalive.ServerParameters{}) }},
	{"KeepaliveParams tiny", func() grpc.ServerOption {
		return grpc.KeepaliveParams(keepalive.ServerParameters{Time: time.Nanosecond})
	}},
	{"KeepaliveEnforcementPolicy zero", func() grpc.ServerOption {
		return grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{})
	}},
	{"CustomCodec", func() grpc.ServerOption { return grpc.CustomCodec(oldCodec{}) }},
	{"ForceServerCodec", func() grpc.ServerOption { return grpc.ForceServerCodec(oldCodec{}) }},
	{"ForceServerCodecV2", func() grpc.ServerOption {
		return grpc.ForceServerCodecV2(encoding.GetCodecV2(proto.Name))
	}},
	{"RPCCompressor", func() grpc.ServerOption { return grpc.RPCCompressor(grpc.NewGZIPCompressor()) }},
	{"RPCDecompressor", func() grpc.ServerOption { return grpc.RPCDecompressor(grpc.NewGZIPDecompressor()) }},
	{"MaxMsgSize 10", func() grpc.ServerOption { return grpc.MaxMsgSize(10) }},
	{"MaxRecvMsgSize 10", func() grpc.ServerOption { return grpc.MaxRecvMsgSize(10) }},
	{"MaxRecvMsgSize 0", func() grpc.ServerOption { return grpc.MaxRecvMsgSize(0) }},
	{"MaxRecvMsgSize -1", func() grpc.ServerOption { return grpc.MaxRecvMsgSize(-1) }},
	{"MaxSendMsgSize 10", func() grpc.ServerOption { return grpc.MaxSendMsgSize(10) }},
	{"MaxSendMsgSize 0", func() grpc.ServerOption { return grpc.MaxSendMsgSize(0) }},
	{"MaxConcurrentStreams 0", func() grpc.ServerOption { return grpc.MaxConcurrentStreams(0) }},
	{"MaxConcurrentStreams 1", func() grpc.ServerOption { return grpc.MaxConcurrentStreams(1) }},
	{"Creds insecure", func() grpc.ServerOption { return grpc.Creds(insecure.NewCredentials()) }},
	{"Creds nil", func() grpc.ServerOption { return grpc.Creds(nil) }},
	{"UnaryInterceptor nil", func() grpc.ServerOption { return grpc.UnaryInterceptor(nil) }},
	{"UnaryInterceptor", func() grpc.ServerOption {
		return grpc.UnaryInterceptor(func(ctx context.Context, req any, info *grpc.UnaryServerInfo, h grpc.UnaryHandler) (any, error) {
			_ = grpc.SetTrailer(ctx, metadata.Pairs("seen", info.FullMethod))
			return h(ctx, req)
		})
	}},
	{"UnaryInterceptor refuses", func() grpc.ServerOption {
		return grpc.UnaryInterceptor(func(context.Context, any, *grpc.UnaryServerInfo, grpc.UnaryHandler) (any, error) {
			return nil, errors.New("not today")
		})
	}},
	{"ChainUnaryInterceptor none", func() grpc.ServerOption { return grpc.ChainUnaryInterceptor() }},
	{"StreamInterceptor nil", func() grpc.ServerOption { return grpc.StreamInterceptor(nil) }},
	{"StreamInterceptor", func() grpc.ServerOption {
		return grpc.StreamInterceptor(func(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, h grpc.StreamHandler) error {
			ss.SetTrailer(metadata.Pairs("seen", fmt.Sprintf("%v %v %+v", srv, info.FullMethod, *info)))
			return h(srv, ss)
		})
	}},
	{"ChainStreamInterceptor none", func() grpc.ServerOption { return grpc.ChainStreamInterceptor() }},
	{"InTapHandle", func() grpc.ServerOption {
		return grpc.InTapHandle(func(ctx context.Context, info *tap.Info) (context.Context, error) {
			if info.FullMethodName == rig.Bidi {
				return nil, status.Error(codes.FailedPrecondition, "tapped "+rig.MD(metadata.MD{"te": info.Header["te"]}))
			}
			return ctx, nil
		})
	}},
	{"InTapHandle plain error", func() grpc.ServerOption {
		return grpc.InTapHandle(func(context.Context, *tap.Info) (context.Context, error) { return nil, errors.New("plain") })
	}},
	{"StatsHandler nil", func() grpc.ServerOption { return grpc.StatsHandler(nil) }},
	{"StatsHandler", func() grpc.ServerOption { return grpc.StatsHandler(quietStats{}) }},
	{"UnknownServiceHandler", func() grpc.ServerOption {
		return grpc.UnknownServiceHandler(func(srv any, ss grpc.ServerStream) error {
			method, ok := grpc.MethodFromServerStream(ss)
			return status.Errorf(codes.DataLoss, "unknown %v %v %v", srv, method, ok)
		})
	}},
	{"ConnectionTimeout", func() grpc.ServerOption { return grpc.ConnectionTimeout(time.Hour) }},
	{"MaxHeaderListSize 0", func() grpc.ServerOption { return grpc.MaxHeaderListSize(0) }},
	{"MaxHeaderListSize 100", func() grpc.ServerOption { return grpc.MaxHeaderListSize(100) }},
	{"MaxHeaderListSize value", func() grpc.ServerOption {
		return grpc.MaxHeaderListSizeServerOption{MaxHeaderListSize: 1 << 14}
	}},
	{"HeaderTableSize 0", func() grpc.ServerOption { return grpc.HeaderTableSize(0) }},
	{"HeaderTableSize 100", func() grpc.ServerOption { return grpc.HeaderTableSize(100) }},
	{"NumStreamWorkers 2", func() grpc.ServerOption { return grpc.NumStreamWorkers(2) }},
	{"WaitForHandlers", func() grpc.ServerOption { return grpc.WaitForHandlers(true) }},
}

// serverOptionProbes say of each option whether it can be compared, and what calls notice.
func serverOptionProbes() []probe.Probe {
	var out []probe.Probe
	for _, c := range serverOptions {
		out = append(out, probe.Probe{Name: "server/" + c.name + ", compared", Run: func(p *probe.P) { comparable(p, c.option()) }})
		out = append(out, probe.Probe{Name: "server/" + c.name, Run: func(p *probe.P) {
			o := c.option()
			s := rig.Pair{Server: []grpc.ServerOption{o}, TCP: true}.Start(p)
			someCalls(p, s)
		}})
	}
	for _, c := range []struct {
		name string
		make func() []grpc.ServerOption
	}{
		{"two UnaryInterceptors", func() []grpc.ServerOption {
			i := func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, h grpc.UnaryHandler) (any, error) {
				return h(ctx, req)
			}
			return []grpc.ServerOption{grpc.UnaryInterceptor(i), grpc.UnaryInterceptor(i)}
		}},
		{"two StreamInterceptors", func() []grpc.ServerOption {
			i := func(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, h grpc.StreamHandler) error {
				return h(srv, ss)
			}
			return []grpc.ServerOption{grpc.StreamInterceptor(i), grpc.StreamInterceptor(i)}
		}},
		{"two InTapHandles", func() []grpc.ServerOption {
			i := func(ctx context.Context, _ *tap.Info) (context.Context, error) { return ctx, nil }
			return []grpc.ServerOption{grpc.InTapHandle(i), grpc.InTapHandle(i)}
		}},
		{"nil option", func() []grpc.ServerOption { return []grpc.ServerOption{nil} }},
		{"interceptors in order", func() []grpc.ServerOption {
			named := func(name string) grpc.UnaryServerInterceptor {
				return func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, h grpc.UnaryHandler) (any, error) {
					_ = grpc.SetTrailer(ctx, metadata.Pairs("order", name))
					return h(ctx, req)
				}
			}
			return []grpc.ServerOption{
				grpc.ChainUnaryInterceptor(named("a"), named("b")), grpc.UnaryInterceptor(named("c")),
				grpc.ChainUnaryInterceptor(named("d")),
			}
		}},
	} {
		out = append(out, probe.Probe{Name: "server/" + c.name, Run: func(p *probe.P) {
			someCalls(p, rig.Pair{Server: c.make()}.Start(p))
		}})
	}
	return out
}

// comparable prints what == and a map say of a value.
func comparable(p *probe.P, v any) {
	defer func() {
		if r := recover(); r != nil {
			p.Printf("compared: PANIC: %v", r)
		}
	}()
	same := v == v
	p.Printf("compared: %v, as a key: %d", same, len(map[any]int{v: 1}))
}

// someCalls are those that options are noticed by.
func someCalls(p *probe.P, s *rig.Started) {
	var header, trailer metadata.MD
	got, err := s.Call(p.Context(), "0123456789", grpc.Header(&header), grpc.Trailer(&trailer))
	p.Printf("unary: %q %s header=%s trailer=%s", got, rig.Err(err), rig.MD(header), rig.MD(trailer))
	stream, err := s.NewStream(p.Context(), rig.BidiDesc, rig.Bidi)
	if err != nil {
		p.Printf("stream: %s", rig.Err(err))
		return
	}
	sendErr := stream.SendMsg(rig.M("one"))
	if sendErr != nil && sendErr != io.EOF {
		p.Printf("send: %s", rig.Err(sendErr))
	}
	m := new(rig.Msg)
	err = stream.RecvMsg(m)
	p.Printf("recv: %q %s", m.GetValue(), rig.Err(err))
	_ = stream.CloseSend()
	if err == nil {
		p.Printf("end: %s trailer=%s", rig.Err(stream.RecvMsg(m)), rig.MD(stream.Trailer()))
	}
	p.Printf("unknown: %s", rig.Err(s.Invoke(p.Context(), "/no/Such", rig.M(""), new(rig.Msg))))
}

// oldCodec is the proto codec behind the first interface.
type oldCodec struct{}

func (oldCodec) Marshal(v any) ([]byte, error) { return []byte(v.(*rig.Msg).GetValue()), nil }
func (oldCodec) Unmarshal(b []byte, v any) error {
	v.(*rig.Msg).Value = "old:" + string(b)
	return nil
}
func (oldCodec) Name() string   { return "old" }
func (oldCodec) String() string { return "old" }

type quietStats struct{}

func (quietStats) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (quietStats) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (quietStats) HandleRPC(context.Context, stats.RPCStats)                         {}
func (quietStats) HandleConn(context.Context, stats.ConnStats)                       {}
