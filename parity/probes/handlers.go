// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// handlerProbes are what handlers do.
var handlerProbes = []probe.Probe{
	{Name: "context of a handler", Run: func(p *probe.P) {
		s := rig.Pair{TCP: true, Handlers: rig.Handlers{
			Unary: func(ctx context.Context, m *rig.Msg) (*rig.Msg, error) {
				method, found := grpc.Method(ctx)
				pr, _ := peer.FromContext(ctx)
				p.Printf("%T %v %v", ctx, method, found)
				p.Printf("%v %T %T", pr.Addr.Network(), pr.LocalAddr, pr.AuthInfo)
				ts := grpc.ServerTransportStreamFromContext(ctx)
				p.Printf("%v", ts.Method())
				_, deadline := ctx.Deadline()
				p.Printf("deadline %v", deadline)
				names, err := grpc.ClientSupportedCompressors(ctx)
				p.Printf("%q %v", names, err)
				return m, nil
			},
			Stream: func(s grpc.ServerStream) error {
				p.Printf("%T", s.Context())
				method, found := grpc.MethodFromServerStream(s)
				p.Printf("%v %v", method, found)
				return nil
			},
		}}.Start(p)
		p.Printf("%s", call(p.Context(), s))
		stream, err := s.NewStream(context.Background(), rig.BidiDesc, rig.Bidi)
		if err == nil {
			err = stream.RecvMsg(new(rig.Msg))
		}
		p.Printf("%s", rig.Err(err))
	}},
	{Name: "functions outside of a handler", Run: func(p *probe.P) {
		ctx := context.Background()
		p.Printf("%s", rig.Err(grpc.SetHeader(ctx, metadata.Pairs("a", "b"))))
		p.Printf("%s", rig.Err(grpc.SetHeader(ctx, nil)))
		p.Printf("%s", rig.Err(grpc.SendHeader(ctx, nil)))
		p.Printf("%s", rig.Err(grpc.SetTrailer(ctx, metadata.Pairs("a", "b"))))
		p.Printf("%s", rig.Err(grpc.SetTrailer(ctx, nil)))
		p.Printf("%s", rig.Err(grpc.SetSendCompressor(ctx, "gzip")))
		_, err := grpc.ClientSupportedCompressors(ctx)
		p.Printf("%s", rig.Err(err))
		m, found := grpc.Method(ctx)
		p.Printf("%q %v %v", m, found, grpc.ServerTransportStreamFromContext(ctx) == nil)
	}},
	{Name: "headers in a handler", Run: func(p *probe.P) {
		j := &journal{} // what the handler is told while the client receives
		s := rig.Pair{Handlers: rig.Handlers{Stream: func(s grpc.ServerStream) error {
			j.add("SetHeader %s", rig.Err(s.SetHeader(metadata.Pairs("a", "1"))))
			j.add("SetHeader %s", rig.Err(s.SetHeader(metadata.Pairs("a", "2"))))
			j.add("SetHeader nil %s", rig.Err(s.SetHeader(nil)))
			j.add("SendHeader %s", rig.Err(s.SendHeader(metadata.Pairs("b", "3"))))
			j.add("SendHeader %s", rig.Err(s.SendHeader(metadata.Pairs("b", "4"))))
			j.add("SetHeader %s", rig.Err(s.SetHeader(metadata.Pairs("a", "5"))))
			j.add("grpc.SendHeader %s", rig.Err(grpc.SendHeader(s.Context(), nil)))
			j.add("grpc.SetHeader %s", rig.Err(grpc.SetHeader(s.Context(), metadata.Pairs("a", "6"))))
			s.SetTrailer(metadata.Pairs("t", "1"))
			s.SetTrailer(metadata.Pairs("t", "2"))
			s.SetTrailer(nil)
			j.add("SetSendCompressor %s", rig.Err(grpc.SetSendCompressor(s.Context(), "gzip")))
			return nil
		}}}.Start(p)
		stream, err := s.NewStream(p.Context(), rig.BidiDesc, rig.Bidi)
		if err != nil {
			panic(err)
		}
		md, err := stream.Header()
		p.Printf("%s %s", rig.MD(md), rig.Err(err))
		p.Printf("%s", rig.Err(stream.RecvMsg(new(rig.Msg))))
		j.print(p)
		p.Printf("%s", rig.MD(stream.Trailer()))
	}},
	{Name: "a handler's stream after its end", Run: func(p *probe.P) {
		kept := make(chan grpc.ServerStream, 1)
		s := rig.Pair{Handlers: rig.Handlers{Stream: func(s grpc.ServerStream) error { kept <- s; return nil }}}.Start(p)
		stream, err := s.NewStream(p.Context(), rig.BidiDesc, rig.Bidi)
		if err == nil {
			err = stream.RecvMsg(new(rig.Msg))
		}
		p.Printf("%s", rig.Err(err))
		ss := <-kept
		probe.Settle(0) // the handler has returned then
		p.Printf("send %s", rig.Err(ss.SendMsg(rig.M("x"))))
		p.Printf("recv %s", rig.Err(ss.RecvMsg(new(rig.Msg))))
		p.Printf("header %s", rig.Err(ss.SendHeader(nil)))
		p.Printf("header %s", rig.Err(ss.SetHeader(metadata.Pairs("a", "b"))))
		p.Printf("context %v", ss.Context().Err())
	}},
	{Name: "handler panics", Alone: true, Run: func(p *probe.P) {
		s := rig.Pair{Handlers: rig.Handlers{Unary: func(context.Context, *rig.Msg) (*rig.Msg, error) { panic("of a handler") }}}.Start(p)
		p.Printf("%s", call(p.Context(), s))
	}},
	{Name: "SetSendCompressor", Run: func(p *probe.P) {
		for _, name := range []string{"gzip", "identity", "nope", ""} {
			s := rig.Pair{Handlers: rig.Handlers{Unary: func(ctx context.Context, m *rig.Msg) (*rig.Msg, error) {
				p.Printf("%s: %s", name, rig.Err(grpc.SetSendCompressor(ctx, name)))
				return m, nil
			}}}.Start(p)
			p.Printf("%s", call(p.Context(), s))
		}
	}},
	{Name: "SetSendCompressor that the client lacks", Run: func(p *probe.P) {
		s := rig.Pair{TCP: true, Handlers: rig.Handlers{Unary: func(ctx context.Context, m *rig.Msg) (*rig.Msg, error) {
			names, err := grpc.ClientSupportedCompressors(ctx)
			p.Printf("%q %v", names, err)
			p.Printf("%s", rig.Err(grpc.SetSendCompressor(ctx, "gzip")))
			return m, nil
		}}}.Serve(p)
		r := rig.RawClient(p, s.Listener.Addr().String())
		r.Headers(1, false, rig.RequestFields("grpc-accept-encoding", "deflate, snappy")...)
		_ = r.WriteData(1, true, rig.Message("x"))
		r.Print(p, 1)
	}},
	{Name: "errors of a handler's SendMsg", Run: func(p *probe.P) {
		j := &journal{}
		s := rig.Pair{Server: []grpc.ServerOption{grpc.MaxSendMsgSize(10)}, Handlers: rig.Handlers{Stream: func(s grpc.ServerStream) error {
			j.add("%s", rig.Err(s.SendMsg("x")))
			j.add("%s", rig.Err(s.SendMsg(nil)))
			j.add("%s", rig.Err(s.SendMsg(rig.M("0123456789"))))
			j.add("%s", rig.Err(s.SendMsg(rig.M("ok"))))
			return nil
		}}}.Start(p)
		stream, err := s.NewStream(p.Context(), rig.BidiDesc, rig.Bidi)
		m := new(rig.Msg)
		for err == nil {
			if err = stream.RecvMsg(m); err == nil {
				p.Printf("got %q", m.GetValue())
			}
		}
		p.Printf("%s", rig.Err(err))
		j.wait(p, 4) // the first of them has ended the stream
		j.print(p)
	}},
	{Name: "MaxConcurrentStreams makes calls wait", Run: func(p *probe.P) {
		s, began, _ := blocking(p, grpc.MaxConcurrentStreams(1))
		s.Ready(p)
		ctx, cancel := context.WithCancel(p.Context())
		first := make(chan string, 1)
		go func() { first <- call(ctx, s) }()
		<-began
		short, cancelShort := probe.WithTimeout(p.Context(), 100*time.Millisecond)
		defer cancelShort()
		p.Printf("%s", call(short, s))
		cancel()
		p.Printf("%s", <-first)
	}},
	{Name: "ErrConnDispatched", Run: func(p *probe.P) {
		p.Printf("%v", status.Code(errors.New("x")) == codes.Unknown)
	}},
}
