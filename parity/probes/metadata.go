// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
)

// pairsOf are metadata that programs put on the wire.
var pairsOf = []struct {
	name string
	md   metadata.MD
}{
	{"plain", metadata.MD{"k": {"v"}}},
	{"two values", metadata.MD{"k": {"v", "w"}}},
	{"empty value", metadata.MD{"k": {""}}},
	{"no value", metadata.MD{"k": {}}},
	{"empty key", metadata.MD{"": {"v"}}},
	{"upper case key", metadata.MD{"Key": {"v"}}},
	{"key with a space", metadata.MD{"a b": {"v"}}},
	{"key with utf8", metadata.MD{"é": {"v"}}},
	{"key with dots", metadata.MD{"a.b_c-d0": {"v"}}},
	{"key of a token", metadata.MD{"k~!#$%&'*+^`|": {"v"}}},
	{"key of a token, binary", metadata.MD{"k~-bin": {"\x00"}}},
	{"key with a parenthesis", metadata.MD{"k(": {"v"}}},
	{"key with a colon", metadata.MD{":foo": {"v"}}},
	{":authority", metadata.MD{":authority": {"v"}}},
	{":path", metadata.MD{":path": {"/x/y"}}},
	{"host", metadata.MD{"host": {"v"}}},
	{"connection", metadata.MD{"connection": {"close"}}},
	{"te", metadata.MD{"te": {"v"}}},
	{"content-type", metadata.MD{"content-type": {"text/html"}}},
	{"content-length", metadata.MD{"content-length": {"1"}}},
	{"user-agent", metadata.MD{"user-agent": {"mine"}}},
	{"grpc-timeout", metadata.MD{"grpc-timeout": {"1S"}}},
	{"grpc-encoding", metadata.MD{"grpc-encoding": {"gzip"}}},
	{"grpc-accept-encoding", metadata.MD{"grpc-accept-encoding": {"mine"}}},
	{"grpc-status", metadata.MD{"grpc-status": {"5"}}},
	{"grpc-message", metadata.MD{"grpc-message": {"x"}}},
	{"grpc-status-details-bin", metadata.MD{"grpc-status-details-bin": {"x"}}},
	{"grpc-foo", metadata.MD{"grpc-foo": {"x"}}},
	{"grpc-previous-rpc-attempts", metadata.MD{"grpc-previous-rpc-attempts": {"7"}}},
	{"grpc-trace-bin", metadata.MD{"grpc-trace-bin": {"x"}}},
	{"binary", metadata.MD{"k-bin": {"\x00\xff,a", ""}}},
	{"binary utf8", metadata.MD{"k-bin": {"é"}}},
	{"utf8", metadata.MD{"k": {"é"}}},
	{"tab", metadata.MD{"k": {"a\tb"}}},
	{"tilde", metadata.MD{"k": {"~"}}},
	{"delete", metadata.MD{"k": {"\x7f"}}},
	{"newline", metadata.MD{"k": {"a\nb"}}},
	{"null", metadata.MD{"k": {"a\x00b"}}},
	{"spaces around", metadata.MD{"k": {"  a  "}}},
	{"comma", metadata.MD{"k": {"a,b"}}},
	{"quote", metadata.MD{"k": {`"a"`}}},
	{"authorization", metadata.MD{"authorization": {"Bearer secret"}}},
	{"cookie", metadata.MD{"cookie": {"a=b"}}},
	{"trailer", metadata.MD{"trailer": {"x"}}},
	{"transfer-encoding", metadata.MD{"transfer-encoding": {"chunked"}}},
}

var metadataProbes = func() []probe.Probe {
	out := metadataValueProbes
	for _, c := range pairsOf {
		out = append(out, probe.Probe{Name: "outgoing/" + c.name, Run: func(p *probe.P) { outgoing(p, c.md) }})
		out = append(out, probe.Probe{Name: "reply/" + c.name, Run: func(p *probe.P) { replyMetadata(p, c.md) }})
	}
	return out
}()

// outgoing sends md with a call and prints what the server got.
func outgoing(p *probe.P, md metadata.MD) {
	s := rig.Pair{Handlers: rig.Handlers{Unary: func(ctx context.Context, _ *rig.Msg) (*rig.Msg, error) {
		got, _ := metadata.FromIncomingContext(ctx)
		return rig.M(rig.MD(got)), nil
	}}}.Start(p)
	got, err := s.Call(metadata.NewOutgoingContext(p.Context(), md), "")
	p.Printf("call: %s %s", got, rig.Err(err))
	ctx := p.Context()
	for k, vs := range md {
		for _, v := range vs {
			ctx = metadata.AppendToOutgoingContext(ctx, k, v)
		}
	}
	got, err = s.Call(ctx, "")
	p.Printf("appended: %s %s", got, rig.Err(err))
	stream, err := s.NewStream(metadata.NewOutgoingContext(p.Context(), md), rig.BidiDesc, rig.Bidi)
	if err != nil {
		p.Printf("stream: %s", rig.Err(err))
		return
	}
	_ = stream.CloseSend()
	p.Printf("stream ends: %s", rig.Err(stream.RecvMsg(new(rig.Msg))))
}

// replyMetadata sends md from a handler in every way there is and prints what the client got.
func replyMetadata(p *probe.P, md metadata.MD) {
	for _, way := range []struct {
		name string
		do   func(context.Context, grpc.ServerStream) error
	}{
		{"SetHeader", func(ctx context.Context, _ grpc.ServerStream) error { return grpc.SetHeader(ctx, md) }},
		{"SendHeader", func(ctx context.Context, _ grpc.ServerStream) error { return grpc.SendHeader(ctx, md) }},
		{"SetTrailer", func(ctx context.Context, _ grpc.ServerStream) error { return grpc.SetTrailer(ctx, md) }},
		{"stream.SetHeader", func(_ context.Context, s grpc.ServerStream) error { return s.SetHeader(md) }},
		{"stream.SendHeader", func(_ context.Context, s grpc.ServerStream) error { return s.SendHeader(md) }},
		{"stream.SetTrailer", func(_ context.Context, s grpc.ServerStream) error { s.SetTrailer(md); return nil }},
	} {
		said := make(chan string, 1)
		s := rig.Pair{Handlers: rig.Handlers{Stream: func(s grpc.ServerStream) error {
			err := way.do(s.Context(), s)
			said <- rig.Err(err)
			return s.SendMsg(rig.M("reply"))
		}}}.Start(p)
		stream, err := s.NewStream(p.Context(), rig.ServerStreamDesc, rig.ServerStream)
		if err != nil {
			p.Printf("%s: NewStream: %s", way.name, rig.Err(err))
			continue
		}
		out := new(rig.Msg)
		first := stream.RecvMsg(out)
		second := first
		if first == nil {
			second = stream.RecvMsg(new(rig.Msg))
		}
		header, err := stream.Header()
		p.Printf("%s: %s; reply %q %s then %s; header=%s %s trailer=%s", way.name, <-said, out.GetValue(), rig.Err(first),
			rig.Err(second), rig.MD(header), rig.Err(err), rig.MD(stream.Trailer()))
	}
}

// odd is a list of keys and values that lacks a value.
var odd = []string{"a"}

var metadataValueProbes = []probe.Probe{
	{Name: "value/New", Run: func(p *probe.P) {
		md := metadata.New(map[string]string{"A": "1", "a": "2"})
		p.Printf("%d %d", md.Len(), len(md["a"]))
		p.Printf("%s", rig.MD(metadata.New(nil)))
	}},
	{Name: "value/Pairs", Run: func(p *probe.P) {
		p.Printf("%s", rig.MD(metadata.Pairs("A", "1", "a", "2", "b-BIN", "x")))
		rig.Try(p, "odd", func() error { metadata.Pairs(odd...); return nil })
	}},
	{Name: "value/methods", Run: func(p *probe.P) {
		md := metadata.MD{"Raw": {"1"}, "k": {"v"}}
		p.Printf("%q %q %q", md.Get("Raw"), md.Get("K"), md.Get("no"))
		md.Set("Raw", "2", "3")
		md.Set("nothing")
		md.Append("K", "w")
		md.Append("nothing")
		p.Printf("%s", rig.MD(md))
		md.Delete("RAW")
		p.Printf("%s %d", rig.MD(md), md.Len())
		c := md.Copy()
		c["k"][0] = "changed"
		p.Printf("%s", rig.MD(md))
	}},
	{Name: "value/nil", Run: func(p *probe.P) {
		var md metadata.MD
		p.Printf("%d %q %v", md.Len(), md.Get("k"), md.Copy() == nil)
		md.Delete("k")
		rig.Try(p, "Set", func() error { md.Set("k", "v"); return nil })
	}},
	{Name: "value/Join", Run: func(p *probe.P) {
		p.Printf("%s", rig.MD(metadata.Join(metadata.MD{"A": {"1"}}, nil, metadata.MD{"a": {"2"}, "A": {"3"}})))
		p.Printf("%s", rig.MD(metadata.Join()))
	}},
	{Name: "value/printed", Run: func(p *probe.P) {
		md := metadata.MD{"authorization": {"Bearer secret"}}
		p.Printf("%v", md)
		p.Printf("%+v", md)
		p.Printf("%#v", md)
		p.Printf("%s", md)
		p.Printf("%q", md)
		p.Printf("%v", struct{ MD metadata.MD }{md})
	}},
	{Name: "value/printed, harmless", Run: func(p *probe.P) {
		for _, k := range []string{
			"content-type", "user-agent", "k", ":authority", "grpc-timeout", "grpc-encoding", "grpc-accept-encoding",
			"te", "cookie", "x-request-id", "traceparent", "grpc-status", "grpc-message", "accept", "host", "date",
			"grpc-trace-bin", "x-forwarded-for", "server", "content-length", "grpc-previous-rpc-attempts",
		} {
			p.Printf("%v", metadata.MD{k: {"v"}})
		}
	}},
	{Name: "value/contexts", Run: func(p *probe.P) {
		ctx := context.Background()
		_, okIn := metadata.FromIncomingContext(ctx)
		_, okOut := metadata.FromOutgoingContext(ctx)
		p.Printf("%v %v %q", okIn, okOut, metadata.ValueFromIncomingContext(ctx, "k"))
		ctx = metadata.NewIncomingContext(ctx, metadata.MD{"Key": {"1"}, "k": {"2"}})
		md, _ := metadata.FromIncomingContext(ctx)
		p.Printf("%s %q %q", rig.MD(md), metadata.ValueFromIncomingContext(ctx, "KEY"), metadata.ValueFromIncomingContext(ctx, "k"))
		ctx = metadata.AppendToOutgoingContext(ctx, "A", "1")
		ctx = metadata.AppendToOutgoingContext(ctx, "a", "2", "B", "3")
		md, _ = metadata.FromOutgoingContext(ctx)
		p.Printf("%s", rig.MD(md))
		rig.Try(p, "odd", func() error { metadata.AppendToOutgoingContext(ctx, odd...); return nil })
	}},
	{Name: "value/contexts are copies", Run: func(p *probe.P) {
		md := metadata.MD{"k": {"v"}}
		ctx := metadata.NewOutgoingContext(context.Background(), md)
		got, _ := metadata.FromOutgoingContext(ctx)
		got["k"][0] = "changed"
		got, _ = metadata.FromOutgoingContext(ctx)
		p.Printf("%s", rig.MD(got))
		md["k"][0] = "mine"
		got, _ = metadata.FromOutgoingContext(ctx)
		p.Printf("%s", rig.MD(got))
	}},
	{Name: "value/nil contexts", Run: func(p *probe.P) {
		ctx := metadata.NewOutgoingContext(context.Background(), nil)
		md, found := metadata.FromOutgoingContext(ctx)
		p.Printf("%s %v", rig.MD(md), found)
		ctx = metadata.NewIncomingContext(context.Background(), nil)
		md, found = metadata.FromIncomingContext(ctx)
		p.Printf("%s %v", rig.MD(md), found)
	}},
	{Name: "value/compared", Run: func(p *probe.P) {
		p.Printf("%v", fmt.Sprintf("%T", metadata.MD{}))
		p.Printf("%v", fmt.Sprint(metadata.MD(nil)))
	}},
}
