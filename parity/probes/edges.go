// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/alts"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/credentials/local"
	"google.golang.org/grpc/credentials/tls/certprovider"
	"google.golang.org/grpc/experimental"
	"google.golang.org/grpc/grpclog"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
)

// bundleEdges print what a bundle's credentials count for.
func bundleEdges() []probe.Probe {
	named := credentials.NewTLS(&tls.Config{ServerName: "named.example"})
	ways := map[string][]grpc.DialOption{
		"bundle":                     {grpc.WithCredentialsBundle(secretBundle{named, nil})},
		"bundle and an authority":    {grpc.WithCredentialsBundle(secretBundle{named, nil}), grpc.WithAuthority("mine.example")},
		"transport":                  {grpc.WithTransportCredentials(named)},
		"transport and an authority": {grpc.WithTransportCredentials(named), grpc.WithAuthority("mine.example")},
		"insecure bundle":            {grpc.WithCredentialsBundle(secretBundle{insecure.NewCredentials(), nil})},
		"local":                      {grpc.WithTransportCredentials(overridden(local.NewCredentials()))},
		"ALTS":                       {grpc.WithTransportCredentials(overridden(alts.NewClientCreds(alts.DefaultClientOptions())))},
		"insecure":                   {grpc.WithTransportCredentials(overridden(insecure.NewCredentials()))},
	}
	var out []probe.Probe
	for name, opts := range ways {
		out = append(out, probe.Probe{Name: "who names the server: " + name, Run: func(p *probe.P) {
			r := manual.NewBuilderWithScheme("manual")
			r.BuildCallback = func(_ resolver.Target, _ resolver.ClientConn, o resolver.BuildOptions) {
				p.Printf("resolver: creds=%v bundle=%v authority=%q", o.DialCreds != nil, o.CredsBundle != nil, o.Authority)
			}
			told := make(chan string, 9)
			opts := append([]grpc.DialOption{grpc.WithResolvers(r), withBalancer(p, func(cc balancer.ClientConn, o balancer.BuildOptions) balancer.Balancer {
				told <- fmt.Sprintf("policy: creds=%v bundle=%v authority=%q", o.DialCreds != nil, o.CredsBundle != nil, o.Authority)
				return configured{balancer.Get("pick_first").Build(cc, o), nil}
			})}, opts...)
			cc, err := grpc.NewClient("manual:///target.example", opts...)
			if err != nil {
				p.Printf("%s", rig.Err(err))
				return
			}
			p.Cleanup(func() { _ = cc.Close() })
			r.InitialState(addresses("127.0.0.1:1"))
			cc.Connect()
			p.Printf("%s", <-told)
		}})
	}
	return out
}

// overridden prints nothing: it returns c with another name, if c can have one.
func overridden(c credentials.TransportCredentials) credentials.TransportCredentials {
	_ = c.OverrideServerName("overridden.example")
	return c
}

// localDial are ways to make a channel behind a proxy.
func localDial() []probe.Probe {
	var out []probe.Probe
	for name, opts := range map[string][]grpc.DialOption{"plain": nil, "resolves here": {grpc.WithLocalDNSResolution()}, "without a proxy": {grpc.WithNoProxy()}} {
		for _, target := range []string{"dns:///localhost:PORT", "dns:///0.0.0.0:PORT", "0.0.0.0:PORT", "localhost:PORT", "passthrough:///0.0.0.0:PORT", "passthrough:///localhost:PORT"} {
			for _, old := range []bool{false, true} {
				way := map[bool]string{false: "NewClient", true: "Dial"}[old]
				out = append(out, probe.Probe{Name: "proxy/" + name + "/" + way + " " + target, Alone: true, Run: func(p *probe.P) {
					s := server(p)
					_ = os.Setenv("HTTPS_PROXY", "http://"+httpProxy(p, "", s))
					_ = os.Setenv("NO_PROXY", "")
					opts := append([]grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials()), quick}, opts...)
					dial := grpc.NewClient
					if old {
						dial = grpc.Dial
					}
					cc, err := dial(strings.ReplaceAll(target, "PORT", portOf(s)), opts...)
					if err != nil {
						p.Printf("%s", rig.Err(err))
						return
					}
					p.Cleanup(func() { _ = cc.Close() })
					p.Printf("%s", briefly(p, cc))
				}})
			}
		}
	}
	return out
}

// telling is a server that prints which encodings a request accepts and has, and then answers it.
func telling(p *probe.P, answer func(*rig.Raw, rig.Request)) string {
	return rig.RawServer(p, func(r *rig.Raw) {
		for {
			req, err := r.AcceptAll()
			if err != nil {
				return
			}
			p.Printf("accept %q, sends %q", req.Get("grpc-accept-encoding"), req.Get("grpc-encoding"))
			answer(r, req)
		}
	})
}

// encodedReplies are replies whose encoding a request may accept, or not.
var encodedReplies = []answer{
	{"plain", full(ok(), rig.Message("r"), "grpc-status", "0")},
	{"gzip", full(ok("grpc-encoding", "gzip"), packed("r"), "grpc-status", "0")},
	{"turned", full(ok("grpc-encoding", "turned"), turnedReply(), "grpc-status", "0")},
	{"turned, not compressed", full(ok("grpc-encoding", "turned"), rig.Message("r"), "grpc-status", "0")},
	{"turned, no message", full(ok("grpc-encoding", "turned"), nil, "grpc-status", "9", "grpc-message", "no")},
	{"unknown", full(ok("grpc-encoding", "nope"), turnedReply(), "grpc-status", "0")},
}

func turnedReply() []byte { return rig.Frame(1, string(turn([]byte(rig.Payload("r"))))) }

// acceptEdges say which compressors a reply may have.
func acceptEdges() []probe.Probe {
	var out []probe.Probe
	gzip := grpc.UseCompressor("gzip")
	for name, opts := range map[string][]grpc.CallOption{
		"none":                        {experimental.AcceptCompressors()},
		"empty":                       {experimental.AcceptCompressors("")},
		"identity":                    {experimental.AcceptCompressors("identity")},
		"gzip":                        {experimental.AcceptCompressors("gzip")},
		"spaces":                      {experimental.AcceptCompressors(" gzip ")},
		"twice":                       {experimental.AcceptCompressors("gzip", "gzip")},
		"gzip and identity":           {experimental.AcceptCompressors("gzip", "identity")},
		"turned":                      {experimental.AcceptCompressors("turned")},
		"turned, gzip":                {experimental.AcceptCompressors("turned", "gzip")},
		"unknown":                     {experimental.AcceptCompressors("nope")},
		"gzip and unknown":            {experimental.AcceptCompressors("gzip", "nope")},
		"GZIP":                        {experimental.AcceptCompressors("GZIP")},
		"a comma":                     {experimental.AcceptCompressors("gzip,turned")},
		"one and then another":        {experimental.AcceptCompressors("gzip"), experimental.AcceptCompressors("turned")},
		"gzip and then none":          {experimental.AcceptCompressors("gzip"), experimental.AcceptCompressors()},
		"gzip, sends gzip":            {experimental.AcceptCompressors("gzip"), gzip},
		"turned, sends gzip":          {experimental.AcceptCompressors("turned"), gzip},
		"none, sends gzip":            {experimental.AcceptCompressors(), gzip},
		"turned, sends identity":      {experimental.AcceptCompressors("turned"), grpc.UseCompressor("identity")},
		"default, sends identity":     {grpc.UseCompressor("identity")},
		"default, sends turned":       {grpc.UseCompressor("turned")},
		"the server's is the default": nil,
	} {
		for _, stream := range []bool{false, true} {
			kind := map[bool]string{false: "unary", true: "stream"}[stream]
			out = append(out, probe.Probe{Name: "accepts/" + name + ", " + kind, Alone: true, Run: func(p *probe.P) {
				registerTurned()
				for _, r := range encodedReplies {
					p.Printf("%s:", r.name)
					cc := channelTo(p, telling(p, r.do))
					if !stream {
						p.Printf("%s", call(p.Context(), cc, opts...))
						continue
					}
					st, err := cc.NewStream(p.Context(), rig.BidiDesc, rig.Bidi, opts...)
					if err != nil {
						p.Printf("begin: %s", rig.Err(err))
						continue
					}
					_ = st.SendMsg(rig.M("q"))
					_ = st.CloseSend()
					m := new(rig.Msg)
					err = st.RecvMsg(m)
					p.Printf("%q %s", m.GetValue(), rig.Err(err))
				}
			}})
		}
	}
	return out
}

// oldAcceptEdges do so on channels with the older options.
func oldAcceptEdges() []probe.Probe {
	var out []probe.Probe
	for name, dial := range map[string][]grpc.DialOption{
		"a compressor":   {grpc.WithCompressor(grpc.NewGZIPCompressor())},
		"a decompressor": {grpc.WithDecompressor(grpc.NewGZIPDecompressor())},
		"both":           {grpc.WithCompressor(grpc.NewGZIPCompressor()), grpc.WithDecompressor(grpc.NewGZIPDecompressor())},
		"by default":     {grpc.WithDefaultCallOptions(experimental.AcceptCompressors("gzip"))},
	} {
		for _, accept := range []string{"", "gzip", "turned"} {
			out = append(out, probe.Probe{Name: fmt.Sprintf("accepts with %s: %q", name, accept), Alone: true, Run: func(p *probe.P) {
				registerTurned()
				addr := telling(p, full(ok("grpc-encoding", "gzip"), packed("r"), "grpc-status", "0"))
				var opts []grpc.CallOption
				if accept != "" {
					opts = append(opts, experimental.AcceptCompressors(accept))
				}
				p.Printf("%s", call(p.Context(), channelTo(p, addr, dial...), opts...))
			}})
		}
	}
	return out
}

// handlerEdges are unary handlers that use the function that decodes in unusual ways.
func handlerEdges() []probe.Probe {
	type decode = func(any) error
	desc := func(handle func(ctx context.Context, dec decode) (any, error)) *grpc.ServiceDesc {
		return &grpc.ServiceDesc{ServiceName: "probe.Edge", HandlerType: (*any)(nil), Methods: []grpc.MethodDesc{{
			MethodName: "Unary",
			Handler: func(_ any, ctx context.Context, dec func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
				return handle(ctx, dec)
			},
		}}}
	}
	var out []probe.Probe
	for name, handle := range map[string]func(p *probe.P, dec decode) (any, error){
		"never": func(*probe.P, decode) (any, error) { return rig.M("never"), nil },
		"twice": func(p *probe.P, dec decode) (any, error) {
			one, two := new(rig.Msg), new(rig.Msg)
			p.Printf("%s", rig.Err(dec(one)))
			p.Printf("%s", rig.Err(dec(two)))
			return rig.M(one.GetValue() + two.GetValue()), nil
		},
		"on another goroutine": func(_ *probe.P, dec decode) (any, error) {
			m, done := new(rig.Msg), make(chan error)
			go func() { done <- dec(m) }()
			return m, <-done
		},
		"and fails": func(_ *probe.P, dec decode) (any, error) { return nil, dec(new(rig.Msg)) },
	} {
		for what, send := range map[string]func(r *rig.Raw){
			"a message":             func(r *rig.Raw) { _ = r.WriteData(1, true, rig.Message("x")) },
			"no message":            func(r *rig.Raw) { _ = r.WriteData(1, true, nil) },
			"two messages":          func(r *rig.Raw) { _ = r.WriteData(1, true, append(rig.Message("x"), rig.Message("y")...)) },
			"a large message":       func(r *rig.Raw) { _ = r.WriteData(1, true, rig.Message(strings.Repeat("x", 2000))) },
			"a broken message":      func(r *rig.Raw) { _ = r.WriteData(1, true, []byte{0, 0, 0, 0, 2, 0xff, 0xff}) },
			"half a message":        func(r *rig.Raw) { _ = r.WriteData(1, true, []byte{0, 0, 0, 0, 9, 1}) },
			"a flag":                func(r *rig.Raw) { _ = r.WriteData(1, true, append([]byte{1}, rig.Message("x")[1:]...)) },
			"a flag that is no bit": func(r *rig.Raw) { _ = r.WriteData(1, true, append([]byte{7}, rig.Message("x")[1:]...)) },
		} {
			out = append(out, probe.Probe{Name: "decodes " + name + "/" + what, Run: func(p *probe.P) {
				srv := grpc.NewServer(grpc.MaxRecvMsgSize(1000))
				srv.RegisterService(desc(func(_ context.Context, dec decode) (any, error) {
					p.Printf("the handler runs")
					return handle(p, dec)
				}), nil)
				l, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					panic(err)
				}
				go func() { _ = srv.Serve(l) }()
				p.Cleanup(srv.Stop)
				r := rig.RawClient(p, l.Addr().String())
				r.Headers(1, false, rig.RequestFields(":path", "/probe.Edge/Unary")...)
				send(r)
				r.Print(p, 1)
			}})
		}
	}
	return out
}

// logEdges are loggers of a program's own.
var logEdges = []probe.Probe{
	{Name: "log/a component as the logger", Alone: true, Run: func(p *probe.P) {
		grpclog.SetLoggerV2(grpclog.Component("mine"))
		p.Printf("set")
	}},
	{Name: "log/a logger of its own, and a formatter", Env: []string{"GRPC_GO_LOG_FORMATTER=json"}, Alone: true, Run: func(p *probe.P) {
		var one, two bytes.Buffer
		grpclog.NewLoggerV2(&one, io.Discard, io.Discard).Info("x")
		grpclog.NewLoggerV2WithVerbosity(&two, io.Discard, io.Discard, 2).Info("x")
		p.Printf("JSON: %v %v", strings.HasPrefix(one.String(), "{"), strings.HasPrefix(two.String(), "{"))
	}},
}

var otherEdges = []probe.Probe{
	{Name: "names of credentials", Run: func(p *probe.P) {
		for _, c := range []credentials.TransportCredentials{local.NewCredentials(), insecure.NewCredentials(), alts.NewClientCreds(alts.DefaultClientOptions()), credentials.NewTLS(nil)} {
			err := c.OverrideServerName("n")
			p.Printf("%s %+v %+v", rig.Err(err), c.Info(), c.Clone().Info())
		}
	}},
	{Name: "distributor", Run: func(p *probe.P) {
		d := certprovider.NewDistributor()
		show := func(what string) {
			km, err := d.KeyMaterial(p.Context())
			p.Printf("%s: %v %v", what, km != nil, err)
		}
		d.Set(&certprovider.KeyMaterial{}, errors.New("failed"))
		show("material and an error")
		d.Set(&certprovider.KeyMaterial{}, nil)
		show("material")
		d.Set(nil, nil)
		show("nothing")
		d.Set(nil, errors.New("failed"))
		show("an error")
		d.Stop()
		show("stopped")
		d.Set(&certprovider.KeyMaterial{}, nil)
		show("set when stopped")
		d.Stop()
	}},
}

func edgeProbes() []probe.Probe {
	out := append(bundleEdges(), localDial()...)
	out = append(append(out, acceptEdges()...), oldAcceptEdges()...)
	out = append(out, handlerEdges()...)
	return append(append(out, logEdges...), otherEdges...)
}
