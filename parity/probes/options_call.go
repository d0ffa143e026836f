// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
	"google.golang.org/grpc/peer"
)

// callOptions are all of them, some with odd values.
var callOptions = []struct {
	name   string
	option func(*probe.P) grpc.CallOption
}{
	{"none", func(*probe.P) grpc.CallOption { return grpc.EmptyCallOption{} }},
	{"CallAuthority", func(*probe.P) grpc.CallOption { return grpc.CallAuthority("a.b") }},
	{"CallAuthority empty", func(*probe.P) grpc.CallOption { return grpc.CallAuthority("") }},
	{"CallContentSubtype proto", func(*probe.P) grpc.CallOption { return grpc.CallContentSubtype("PROTO") }},
	{"CallContentSubtype unknown", func(*probe.P) grpc.CallOption { return grpc.CallContentSubtype("nope") }},
	{"CallContentSubtype empty", func(*probe.P) grpc.CallOption { return grpc.CallContentSubtype("") }},
	{"CallCustomCodec", func(*probe.P) grpc.CallOption { return grpc.CallCustomCodec(oldCodec{}) }},
	{"ForceCodec", func(*probe.P) grpc.CallOption { return grpc.ForceCodec(oldCodec{}) }},
	{"ForceCodec nil", func(*probe.P) grpc.CallOption { return grpc.ForceCodec(nil) }},
	{"ForceCodecV2", func(*probe.P) grpc.CallOption { return grpc.ForceCodecV2(encoding.GetCodecV2(proto.Name)) }},
	{"FailFast", func(*probe.P) grpc.CallOption { return grpc.FailFast(true) }},
	{"WaitForReady", func(*probe.P) grpc.CallOption { return grpc.WaitForReady(true) }},
	{"MaxCallRecvMsgSize 5", func(*probe.P) grpc.CallOption { return grpc.MaxCallRecvMsgSize(5) }},
	{"MaxCallRecvMsgSize 0", func(*probe.P) grpc.CallOption { return grpc.MaxCallRecvMsgSize(0) }},
	{"MaxCallRecvMsgSize -1", func(*probe.P) grpc.CallOption { return grpc.MaxCallRecvMsgSize(-1) }},
	{"MaxCallSendMsgSize 5", func(*probe.P) grpc.CallOption { return grpc.MaxCallSendMsgSize(5) }},
	{"MaxCallSendMsgSize 0", func(*probe.P) grpc.CallOption { return grpc.MaxCallSendMsgSize(0) }},
	{"MaxCallSendMsgSize -1", func(*probe.P) grpc.CallOption { return grpc.MaxCallSendMsgSize(-1) }},
	{"MaxRetryRPCBufferSize 0", func(*probe.P) grpc.CallOption { return grpc.MaxRetryRPCBufferSize(0) }},
	{"UseCompressor gzip", func(*probe.P) grpc.CallOption { return grpc.UseCompressor(gzip.Name) }},
	{"UseCompressor unknown", func(*probe.P) grpc.CallOption { return grpc.UseCompressor("nope") }},
	{"UseCompressor identity", func(*probe.P) grpc.CallOption { return grpc.UseCompressor("identity") }},
	{"UseCompressor empty", func(*probe.P) grpc.CallOption { return grpc.UseCompressor("") }},
	{"StaticMethod", func(*probe.P) grpc.CallOption { return grpc.StaticMethod() }},
	{"PerRPCCredentials", func(*probe.P) grpc.CallOption { return grpc.PerRPCCredentials(token{}) }},
	{"PerRPCCredentials secure", func(*probe.P) grpc.CallOption { return grpc.PerRPCCredentials(token{secure: true}) }},
	{"PerRPCCredentials fails", func(*probe.P) grpc.CallOption {
		return grpc.PerRPCCredentials(token{err: errors.New("no token")})
	}},
	{"PerRPCCredentials reserved", func(*probe.P) grpc.CallOption {
		return grpc.PerRPCCredentials(token{md: map[string]string{"grpc-foo": "x", "Upper": "y", "bin-bin": "\x00"}})
	}},
	{"Header nil map", func(*probe.P) grpc.CallOption { return grpc.Header(new(metadata.MD)) }},
	{"Trailer nil map", func(*probe.P) grpc.CallOption { return grpc.Trailer(new(metadata.MD)) }},
	{"Peer", func(p *probe.P) grpc.CallOption {
		var pr peer.Peer
		p.Cleanup(func() { p.Printf("peer: %v %T %T", pr.Addr, pr.LocalAddr, pr.AuthInfo) })
		return grpc.Peer(&pr)
	}},
	{"OnFinish", func(p *probe.P) grpc.CallOption {
		var mu sync.Mutex
		var ends []string
		p.Cleanup(func() {
			mu.Lock()
			defer mu.Unlock()
			p.Printf("finished: %q", ends)
		})
		return grpc.OnFinish(func(err error) {
			mu.Lock()
			defer mu.Unlock()
			ends = append(ends, rig.Err(err))
		})
	}},
}

// callOptionProbes say of each option whether it can be compared, and what calls notice.
func callOptionProbes() []probe.Probe {
	var out []probe.Probe
	for _, c := range callOptions {
		out = append(out, probe.Probe{Name: "call/" + c.name + ", compared", Run: func(p *probe.P) { comparable(p, c.option(p)) }})
		out = append(out, probe.Probe{Name: "call/" + c.name, Run: func(p *probe.P) {
			o := c.option(p)
			p.Printf("%T", o)
			s := rig.Pair{Handlers: rig.Handlers{Unary: func(ctx context.Context, m *rig.Msg) (*rig.Msg, error) {
				md, _ := metadata.FromIncomingContext(ctx)
				return rig.M(fmt.Sprint(m.GetValue(), rig.MD(md))), nil
			}}}.Start(p)
			var header, trailer metadata.MD
			got, err := s.Call(p.Context(), "0123456789", grpc.Header(&header), grpc.Trailer(&trailer), o)
			p.Printf("unary: %q %s header=%s trailer=%s", got, rig.Err(err), rig.MD(header), rig.MD(trailer))
			stream, err := s.NewStream(p.Context(), rig.BidiDesc, rig.Bidi, o)
			if err != nil {
				p.Printf("stream: %s", rig.Err(err))
				return
			}
			sendErr := stream.SendMsg(rig.M("message"))
			m := new(rig.Msg)
			recvErr := stream.RecvMsg(m)
			_ = stream.CloseSend()
			end := stream.RecvMsg(new(rig.Msg))
			p.Printf("send: %s", rig.Err(sendErr))
			p.Printf("recv: %q %s then %s", m.GetValue(), rig.Err(recvErr), rig.Err(end))
		}})
	}
	return append(out, probe.Probe{Name: "call/nil", Run: func(p *probe.P) {
		_, err := rig.Pair{}.Start(p).Call(p.Context(), "", nil)
		p.Printf("%s", rig.Err(err))
	}})
}
