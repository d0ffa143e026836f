// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
	"google.golang.org/grpc/status"
)

// plain is a codec of the first interface; fail says what of it does not work.
type plain struct{ name, fail string }

func (c plain) Name() string   { return c.name }
func (c plain) String() string { return c.name }

func (c plain) Marshal(v any) ([]byte, error) {
	switch c.fail {
	case "marshal":
		return nil, errors.New("no marshalling")
	case "marshal status":
		return nil, status.Error(codes.DataLoss, "no marshalling")
	case "marshal EOF":
		return nil, io.EOF
	case "marshal panics":
		panic("no marshalling")
	}
	return []byte(c.name + ":" + v.(*rig.Msg).GetValue()), nil
}

func (c plain) Unmarshal(b []byte, v any) error {
	switch c.fail {
	case "unmarshal":
		return errors.New("no unmarshalling")
	case "unmarshal status":
		return status.Error(codes.DataLoss, "no unmarshalling")
	case "unmarshal EOF":
		return io.EOF
	case "unmarshal panics":
		panic("no unmarshalling")
	}
	v.(*rig.Msg).Value = string(b)
	return nil
}

// plainV2 is the same of the second interface.
type plainV2 struct{ plain }

func (c plainV2) Marshal(v any) (mem.BufferSlice, error) {
	b, err := c.plain.Marshal(v)
	if err != nil {
		return nil, err
	}
	return mem.BufferSlice{mem.SliceBuffer(b)}, nil
}

func (c plainV2) Unmarshal(b mem.BufferSlice, v any) error {
	return c.plain.Unmarshal(b.Materialize(), v)
}

// codecUses are how a call comes to a codec.
var codecUses = []struct {
	name   string
	dial   []grpc.DialOption
	server []grpc.ServerOption
	call   []grpc.CallOption
}{
	{name: "registered", call: []grpc.CallOption{grpc.CallContentSubtype("plain")}},
	{name: "registered, upper case", call: []grpc.CallOption{grpc.CallContentSubtype("PLAIN")}},
	{name: "registered V2", call: []grpc.CallOption{grpc.CallContentSubtype("plain2")}},
	{name: "registered, as Upper", call: []grpc.CallOption{grpc.CallContentSubtype("upper")}},
	{name: "forced", call: []grpc.CallOption{grpc.ForceCodec(plain{name: "plain"})}},
	{name: "forced, unknown to the server", call: []grpc.CallOption{grpc.ForceCodec(plain{name: "mine"})}},
	{name: "forced V2", call: []grpc.CallOption{grpc.ForceCodecV2(plainV2{plain{name: "plain2"}})}},
	{name: "forced without a name", call: []grpc.CallOption{grpc.ForceCodec(plain{})}},
	{name: "forced with spaces in its name", call: []grpc.CallOption{grpc.ForceCodec(plain{name: "a b"})}},
	{name: "forced with an upper-case name", call: []grpc.CallOption{grpc.ForceCodec(plain{name: "Plain"})}},
	{name: "forced and a subtype", call: []grpc.CallOption{grpc.ForceCodec(plain{name: "mine"}), grpc.CallContentSubtype("plain")}},
	{name: "subtype and forced", call: []grpc.CallOption{grpc.CallContentSubtype("plain"), grpc.ForceCodec(plain{name: "mine"})}},
	{name: "custom", call: []grpc.CallOption{grpc.CallCustomCodec(plain{name: "plain"})}},
	{name: "custom and a subtype", call: []grpc.CallOption{grpc.CallCustomCodec(plain{name: "mine"}), grpc.CallContentSubtype("plain")}},
	{name: "of the channel", dial: []grpc.DialOption{grpc.WithCodec(plain{name: "plain"})}},
	{name: "of the channel and a subtype", dial: []grpc.DialOption{grpc.WithCodec(plain{name: "mine"})}, call: []grpc.CallOption{grpc.CallContentSubtype("plain")}},
	{name: "by default", dial: []grpc.DialOption{grpc.WithDefaultCallOptions(grpc.CallContentSubtype("plain"))}},
	{name: "by default, but proto", dial: []grpc.DialOption{grpc.WithDefaultCallOptions(grpc.CallContentSubtype("plain"))}, call: []grpc.CallOption{grpc.CallContentSubtype("proto")}},
	{name: "unknown subtype", call: []grpc.CallOption{grpc.CallContentSubtype("nope")}},
	{name: "server's", server: []grpc.ServerOption{grpc.ForceServerCodec(plain{name: "server"})}},
	{name: "server's V2", server: []grpc.ServerOption{grpc.ForceServerCodecV2(plainV2{plain{name: "server"}})}},
	{name: "server's custom", server: []grpc.ServerOption{grpc.CustomCodec(plain{name: "server"})}},
	{name: "server's and a subtype", server: []grpc.ServerOption{grpc.ForceServerCodec(plain{name: "server"})}, call: []grpc.CallOption{grpc.CallContentSubtype("plain")}},
	{name: "server's, for what only the client knows", server: []grpc.ServerOption{grpc.ForceServerCodec(plain{name: "server"})}, call: []grpc.CallOption{grpc.ForceCodec(plain{name: "mine"})}},
	{name: "marshal fails", call: []grpc.CallOption{grpc.ForceCodec(plain{"plain", "marshal"})}},
	{name: "marshal fails with a status", call: []grpc.CallOption{grpc.ForceCodec(plain{"plain", "marshal status"})}},
	{name: "marshal fails with EOF", call: []grpc.CallOption{grpc.ForceCodec(plain{"plain", "marshal EOF"})}},
	{name: "marshal V2 fails", call: []grpc.CallOption{grpc.ForceCodecV2(plainV2{plain{"plain", "marshal"}})}},
	{name: "unmarshal fails", call: []grpc.CallOption{grpc.ForceCodec(plain{"plain", "unmarshal"})}},
	{name: "unmarshal fails with a status", call: []grpc.CallOption{grpc.ForceCodec(plain{"plain", "unmarshal status"})}},
	{name: "unmarshal fails with EOF", call: []grpc.CallOption{grpc.ForceCodec(plain{"plain", "unmarshal EOF"})}},
	{name: "unmarshal V2 fails", call: []grpc.CallOption{grpc.ForceCodecV2(plainV2{plain{"plain", "unmarshal"}})}},
	{name: "marshal of the server fails", server: []grpc.ServerOption{grpc.ForceServerCodec(plain{"server", "marshal"})}},
	{name: "marshal of the server fails with a status", server: []grpc.ServerOption{grpc.ForceServerCodec(plain{"server", "marshal status"})}},
	{name: "marshal of the server fails with EOF", server: []grpc.ServerOption{grpc.ForceServerCodec(plain{"server", "marshal EOF"})}},
	{name: "unmarshal of the server fails", server: []grpc.ServerOption{grpc.ForceServerCodec(plain{"server", "unmarshal"})}},
	{name: "unmarshal of the server fails with a status", server: []grpc.ServerOption{grpc.ForceServerCodec(plain{"server", "unmarshal status"})}},
	{name: "unmarshal of the server fails with EOF", server: []grpc.ServerOption{grpc.ForceServerCodec(plain{"server", "unmarshal EOF"})}},
	{name: "limits", call: []grpc.CallOption{grpc.ForceCodec(plain{name: "plain"}), grpc.MaxCallSendMsgSize(10)}},
	{name: "the very limit", call: []grpc.CallOption{grpc.ForceCodec(plain{name: "plain"}), grpc.MaxCallSendMsgSize(11), grpc.MaxCallRecvMsgSize(17)}},
}

func codecProbes() []probe.Probe {
	var out []probe.Probe
	for _, c := range codecUses {
		for _, kind := range []string{"unary", "stream"} {
			out = append(out, probe.Probe{Name: "codec/" + c.name + ", " + kind, Alone: true, Run: func(p *probe.P) {
				encoding.RegisterCodec(plain{name: "plain"})
				encoding.RegisterCodecV2(plainV2{plain{name: "plain2"}})
				encoding.RegisterCodec(plain{name: "Upper"})
				server := &journal{}
				say := func(ctx context.Context) {
					md, _ := metadata.FromIncomingContext(ctx)
					server.add("%q", md["content-type"])
				}
				s := rig.Pair{TCP: true, Server: c.server, Dial: c.dial, Handlers: rig.Handlers{
					Unary: func(ctx context.Context, m *rig.Msg) (*rig.Msg, error) { say(ctx); return m, nil },
					Stream: func(s grpc.ServerStream) error {
						say(s.Context())
						m := new(rig.Msg)
						err := s.RecvMsg(m)
						server.add("server receives %q %s", m.GetValue(), rig.Err(err))
						if err != nil {
							return err
						}
						err = s.SendMsg(m)
						server.add("server sends %s", rig.Err(err))
						return err
					},
				}}.Start(p)
				s.Ready(p)
				if kind == "unary" {
					got, err := s.Call(p.Context(), "hello", c.call...)
					p.Printf("%q %s", got, rig.Err(err))
				} else if stream, err := s.NewStream(p.Context(), rig.BidiDesc, rig.Bidi, c.call...); err != nil {
					p.Printf("%s", rig.Err(err))
				} else {
					p.Printf("send %s", rig.Err(stream.SendMsg(rig.M("hello"))))
					_ = stream.CloseSend()
					for n := 0; err == nil && n < 5; n++ {
						m := new(rig.Msg)
						err = stream.RecvMsg(m)
						p.Printf("receive %q %s", m.GetValue(), rig.Err(err))
					}
				}
				probe.Settle(0)
				_ = s.Close()
				s.Server.GracefulStop()
				unsent := c.name == "limits" || strings.HasPrefix(c.name, "marshal")
				if !unsent || len(c.server) > 0 { // else it may see something of the call, or nothing
					server.print(p)
				}
			}})
		}
	}
	for _, subtype := range []string{"", "+", ";", "+proto", "+PROTO", "+Proto", "+json", "+nope", "+proto;charset=utf-8", ";charset=utf-8", ";proto", "-web", "+proto+x", "+ proto", "/x"} {
		out = append(out, probe.Probe{Name: "codec/content-type application/grpc" + subtype, Run: func(p *probe.P) {
			r := rig.RawClient(p, requestServer(p))
			r.Headers(1, false, rig.RequestFields("content-type", "application/grpc"+subtype)...)
			_ = r.WriteData(1, true, rig.Message("x"))
			r.Print(p, 1)
		}})
		out = append(out, probe.Probe{Name: "codec/reply of application/grpc" + subtype, Run: func(p *probe.P) {
			callsOf(p, rig.RawServer(p, func(r *rig.Raw) {
				for {
					req, err := r.AcceptAll()
					if err != nil {
						return
					}
					full([]string{":status", "200", "content-type", "application/grpc" + subtype}, reply, "grpc-status", "0")(r, req)
				}
			}))
		}})
	}
	return append(out, codecRegistryProbes...)
}

var codecRegistryProbes = []probe.Probe{
	{Name: "codec/registry", Alone: true, Run: func(p *probe.P) {
		encoding.RegisterCodec(plain{name: "One"})
		encoding.RegisterCodecV2(plainV2{plain{name: "Two"}})
		for _, name := range []string{"one", "One", "two", "Two", "proto", "PROTO", "json", ""} {
			p.Printf("%q: %v %v", name, encoding.GetCodec(name) != nil, encoding.GetCodecV2(name) != nil)
		}
		encoding.RegisterCodecV2(plainV2{plain{name: "one"}})
		_, first := encoding.GetCodec("one").(plain)
		_, second := encoding.GetCodecV2("one").(plainV2)
		p.Printf("first %v, second %v", first, second)
		encoding.RegisterCodec(plain{name: "two"})
		_, first = encoding.GetCodec("two").(plain)
		p.Printf("first %v, second %v", first, encoding.GetCodecV2("two") != nil)
		for _, bad := range []func(){
			func() { encoding.RegisterCodec(nil) }, func() { encoding.RegisterCodecV2(nil) },
			func() { encoding.RegisterCodec(plain{}) }, func() { encoding.RegisterCodecV2(plainV2{}) },
			func() { encoding.RegisterCompressor(nil) },
			func() { encoding.RegisterCompressor(turned{}) },
		} {
			rig.Try(p, "register", func() error { bad(); return nil })
		}
	}},
	{Name: "codec/marshal panics", Alone: true, Run: func(p *probe.P) {
		s := rig.Pair{}.Start(p)
		rig.Try(p, "call", func() error {
			_, err := s.Call(p.Context(), "x", grpc.ForceCodec(plain{"proto", "marshal panics"}))
			return err
		})
		p.Printf("%s", call(p.Context(), s))
	}},
	{Name: "codec/unmarshal panics", Alone: true, Run: func(p *probe.P) {
		s := rig.Pair{}.Start(p)
		rig.Try(p, "call", func() error {
			_, err := s.Call(p.Context(), "x", grpc.ForceCodec(plain{"proto", "unmarshal panics"}))
			return err
		})
		p.Printf("%s", call(p.Context(), s))
	}},
	{Name: "codec/nil", Run: func(p *probe.P) {
		for i, opt := range []func() grpc.CallOption{
			func() grpc.CallOption { return grpc.ForceCodecV2(nil) },
			func() grpc.CallOption { return grpc.CallCustomCodec(nil) },
		} {
			rig.Try(p, fmt.Sprint(i), func() error {
				_, err := rig.Pair{}.Start(p).Call(p.Context(), "x", opt())
				return err
			})
		}
	}},
	{Name: "codec/proto registered anew", Alone: true, Run: func(p *probe.P) {
		encoding.RegisterCodec(plain{name: "proto"})
		got, err := rig.Pair{}.Start(p).Call(p.Context(), "x")
		p.Printf("%q %s", strings.ReplaceAll(got, "proto:", "P:"), rig.Err(err))
	}},
	{Name: "codec/proto registered anew V2", Alone: true, Run: func(p *probe.P) {
		encoding.RegisterCodecV2(plainV2{plain{name: "proto"}})
		got, err := rig.Pair{}.Start(p).Call(p.Context(), "x")
		p.Printf("%q %s", strings.ReplaceAll(got, "proto:", "P:"), rig.Err(err))
	}},
}
