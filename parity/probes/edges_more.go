// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"

	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/base"
	"google.golang.org/grpc/balancer/endpointsharding"
	"google.golang.org/grpc/binarylog"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/credentials/tls/certprovider"
	estats "google.golang.org/grpc/experimental/stats"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/grpc/status"
)

// countedProvider counts how often it was closed.
type countedProvider struct{ closed *atomic.Int32 }

func (countedProvider) KeyMaterial(context.Context) (*certprovider.KeyMaterial, error) {
	return &certprovider.KeyMaterial{}, nil
}
func (c countedProvider) Close() { c.closed.Add(1) }

var providerEdges = []probe.Probe{
	{Name: "certprovider/two handles", Alone: true, Run: func(p *probe.P) {
		var closed, started atomic.Int32
		bc := certprovider.NewBuildableConfig("probe", []byte("config"), func(certprovider.BuildOptions) certprovider.Provider {
			started.Add(1)
			return countedProvider{&closed}
		})
		one, err := bc.Build(certprovider.BuildOptions{})
		p.Printf("%v", err)
		two, err := bc.Build(certprovider.BuildOptions{})
		p.Printf("%v, %d started", err, started.Load())
		three, err := bc.Build(certprovider.BuildOptions{CertName: "other"})
		p.Printf("%v, %d started, %v", err, started.Load(), bc)
		one.Close()
		km, err := one.KeyMaterial(p.Context())
		p.Printf("closed %d: %v %v", closed.Load(), km != nil, err)
		km, err = two.KeyMaterial(p.Context())
		p.Printf("%v %v", km != nil, err)
		one.Close()
		p.Printf("closed %d", closed.Load())
		km, err = two.KeyMaterial(p.Context())
		p.Printf("%v %v", km != nil, err)
		two.Close()
		three.Close()
		p.Printf("closed %d", closed.Load())
	}},
	{Name: "certprovider/start returns nothing", Alone: true, Run: func(p *probe.P) {
		bc := certprovider.NewBuildableConfig("probe", []byte("none"), func(certprovider.BuildOptions) certprovider.Provider { return nil })
		pr, err := bc.Build(certprovider.BuildOptions{})
		p.Printf("%v %v", pr == nil, err != nil)
	}},
	{Name: "certprovider/GetProvider of an unknown name", Alone: true, Run: func(p *probe.P) {
		_, err := certprovider.GetProvider("nope", nil, certprovider.BuildOptions{})
		p.Printf("%v", err)
		_, err = certprovider.ParseConfig("nope", nil)
		p.Printf("%v", err)
	}},
	{Name: "TLSInfo validates", Run: func(p *probe.P) {
		for _, info := range []credentials.TLSInfo{{}, {State: tls.ConnectionState{PeerCertificates: nil}}} {
			for _, name := range []string{"", "x.example", "x.example:443", "[::1]:443", "127.0.0.1", "a b"} {
				p.Printf("%q: %v", name, info.ValidateAuthority(name))
			}
		}
	}},
}

var manualEdges = []probe.Probe{
	{Name: "manual/states before and after", Alone: true, Run: func(p *probe.P) {
		r := manual.NewBuilderWithScheme("edge")
		told := make(chan string, 20)
		r.UpdateStateCallback = func(err error) { told <- rig.Err(err) }
		r.BuildCallback = func(resolver.Target, resolver.ClientConn, resolver.BuildOptions) { told <- "build" }
		r.CloseCallback = func() { told <- "close" }
		r.ResolveNowCallback = func(resolver.ResolveNowOptions) {}
		r.InitialState(addresses(server(p)))
		cc := channelTo(p, "edge:///x", grpc.WithResolvers(r))
		p.Printf("%s", call(p.Context(), cc))
		probe.Settle(moment)
		p.Printf("%s", drained(told))
		r.UpdateState(resolver.State{})
		probe.Settle(moment)
		p.Printf("%s", drained(told))
		_ = cc.Close()
		probe.Settle(moment)
		p.Printf("%s", drained(told))
	}},
	{Name: "manual/UpdateState before Build", Alone: true, Run: func(p *probe.P) {
		r := manual.NewBuilderWithScheme("edge")
		r.UpdateState(resolver.State{})
		p.Printf("done")
	}},
	{Name: "manual/ReportError before Build", Alone: true, Run: func(p *probe.P) {
		r := manual.NewBuilderWithScheme("edge")
		r.CC()
		p.Printf("done")
	}},
	{Name: "manual/two channels", Alone: true, Run: func(p *probe.P) {
		r := manual.NewBuilderWithScheme("edge")
		r.InitialState(addresses(server(p)))
		one := channelTo(p, "edge:///x", grpc.WithResolvers(r))
		two := channelTo(p, "edge:///x", grpc.WithResolvers(r))
		p.Printf("%s", call(p.Context(), one))
		p.Printf("%s", call(p.Context(), two))
		r.UpdateState(resolver.State{})
		probe.Settle(moment)
		p.Printf("%v %v", one.GetState(), two.GetState())
	}},
}

func drained(c <-chan string) string {
	var out []string
	for {
		select {
		case s := <-c:
			out = append(out, s)
		default:
			return strings.Join(out, ", ")
		}
	}
}

// basePicker picks the first one that is ready.
type basePicker struct{}

func (basePicker) Build(info base.PickerBuildInfo) balancer.Picker {
	for sc := range info.ReadySCs {
		return fixedPicker{sc}
	}
	return base.NewErrPicker(balancer.ErrNoSubConnAvailable)
}

type fixedPicker struct{ sc balancer.SubConn }

func (f fixedPicker) Pick(balancer.PickInfo) (balancer.PickResult, error) {
	return balancer.PickResult{SubConn: f.sc}, nil
}

var policyEdges = []probe.Probe{
	{Name: "base/the only ready address goes", Alone: true, Run: func(p *probe.P) {
		balancer.Register(base.NewBalancerBuilder("edge_base", basePicker{}, base.Config{}))
		cc, r := manualChannel(p, grpc.WithDefaultServiceConfig(`{"loadBalancingConfig":[{"edge_base":{}}]}`))
		r.InitialState(addresses(server(p)))
		p.Printf("%s", call(p.Context(), cc))
		silent := rig.ConnServer(p, nil)
		r.UpdateState(addresses(silent))
		probe.Settle(moment)
		p.Printf("%v", cc.GetState())
		r.UpdateState(resolver.State{})
		probe.Settle(moment)
		p.Printf("%v", cc.GetState())
	}},
	{Name: "base/an error of the resolver", Alone: true, Run: func(p *probe.P) {
		balancer.Register(base.NewBalancerBuilder("edge_base2", basePicker{}, base.Config{HealthCheck: true}))
		cc, r := manualChannel(p, grpc.WithDefaultServiceConfig(`{"loadBalancingConfig":[{"edge_base2":{}}]}`))
		r.InitialState(addresses(server(p)))
		p.Printf("%s", call(p.Context(), cc))
		r.CC().ReportError(errors.New("broken"))
		probe.Settle(moment)
		p.Printf("%v %s", cc.GetState(), call(p.Context(), cc))
	}},
	{Name: "endpointsharding/states of pickers", Alone: true, Run: func(p *probe.P) {
		p.Printf("%d", len(endpointsharding.ChildStatesFromPicker(fixedPicker{})))
		p.Printf("%d", len(endpointsharding.ChildStatesFromPicker(nil)))
	}},
}

// refusing is a server that refuses the first attempts of each connection.
func refusing(p *probe.P, n int32, code http2.ErrCode) string {
	return rig.RawServer(p, func(r *rig.Raw) {
		for req, err := r.AcceptAll(); err == nil; req, err = r.AcceptAll() {
			if n--; n >= 0 {
				_ = r.WriteRSTStream(req.ID, code)
			} else {
				full(ok(), rig.Message("r"), "grpc-status", "0")(r, req)
			}
		}
	})
}

func bufferEdges() []probe.Probe {
	var out []probe.Probe
	policy := `{"methodConfig":[{"name":[{}],"retryPolicy":{"maxAttempts":3,"initialBackoff":"0.01s","maxBackoff":"0.01s","backoffMultiplier":1,"retryableStatusCodes":["UNAVAILABLE","INTERNAL"]}}]}`
	for _, size := range []int{-1, 0, 1, 100, 5000} {
		for _, message := range []int{0, 10, 120} {
			for name, code := range map[string]http2.ErrCode{"refused": http2.ErrCodeRefusedStream, "internal": http2.ErrCodeInternal} {
				for _, with := range []bool{false, true} {
					for _, stream := range []bool{false, true} {
						out = append(out, probe.Probe{Name: fmt.Sprintf("buffer of %d/%s, message of %d, policy %t, stream %t", size, name, message, with, stream), Run: func(p *probe.P) {
							var opts []grpc.DialOption
							if with {
								opts = append(opts, grpc.WithDefaultServiceConfig(policy))
							}
							cc := channelTo(p, refusing(p, 1, code), opts...)
							m := rig.M(strings.Repeat("x", message))
							opt := grpc.MaxRetryRPCBufferSize(size)
							if !stream {
								p.Printf("%s", rig.Err(cc.Invoke(p.Context(), rig.Unary, m, new(rig.Msg), opt)))
								return
							}
							st, err := cc.NewStream(p.Context(), rig.BidiDesc, rig.Bidi, opt)
							if err != nil {
								p.Printf("begin %s", rig.Err(err))
								return
							}
							p.Printf("send %s", rig.Err(st.SendMsg(m)))
							p.Printf("close %s", rig.Err(st.CloseSend()))
							p.Printf("receive %s", rig.Err(st.RecvMsg(new(rig.Msg))))
						}})
					}
				}
			}
		}
	}
	return out
}

// ownStream is a server's stream that a program has made, as tests of handlers do.
type ownStream struct{ fails error }

func (o ownStream) Method() string               { return "/own/Method" }
func (o ownStream) SetHeader(metadata.MD) error  { return o.fails }
func (o ownStream) SendHeader(metadata.MD) error { return o.fails }
func (o ownStream) SetTrailer(metadata.MD) error { return o.fails }

var callEdges = []probe.Probe{
	{Name: "a stream of the program's own", Run: func(p *probe.P) {
		for _, fails := range []error{nil, errors.New("mine"), status.Error(codes.NotFound, "mine")} {
			ctx := grpc.NewContextWithServerTransportStream(p.Context(), ownStream{fails})
			p.Printf("%s %s %s", rig.Err(grpc.SetHeader(ctx, metadata.Pairs("a", "b"))), rig.Err(grpc.SendHeader(ctx, metadata.Pairs("a", "b"))), rig.Err(grpc.SetTrailer(ctx, metadata.Pairs("a", "b"))))
			p.Printf("empty: %s %s %s", rig.Err(grpc.SetHeader(ctx, nil)), rig.Err(grpc.SendHeader(ctx, nil)), rig.Err(grpc.SetTrailer(ctx, nil)))
			p.Printf("%s", rig.Err(grpc.SetSendCompressor(ctx, "gzip")))
			names, err := grpc.ClientSupportedCompressors(ctx)
			p.Printf("%q %v", names, err != nil) // the text prints a context
			m, has := grpc.Method(ctx)
			p.Printf("%q %v %v", m, has, grpc.ServerTransportStreamFromContext(ctx) != nil)
		}
		p.Printf("%v", status.Code(grpc.SetHeader(p.Context(), metadata.Pairs("a", "b")))) // the text prints a context
		p.Printf("%s", rig.Err(grpc.SetSendCompressor(p.Context(), "gzip")))
	}},
	{Name: "OnFinish where nothing begins", Run: func(p *probe.P) {
		ended, cancel := context.WithCancel(p.Context())
		cancel()
		bad := metadata.AppendToOutgoingContext(p.Context(), "a b", "c")
		cc := channelTo(p, server(p))
		for name, ctx := range map[string]context.Context{"ended": ended} {
			n := 0
			_, err := cc.NewStream(ctx, rig.BidiDesc, rig.Bidi, grpc.OnFinish(func(err error) { n++ }))
			p.Printf("%s: %s, %d", name, rig.Err(err), n)
			n = 0
			p.Printf("%s: %s", name, call(ctx, cc, grpc.OnFinish(func(err error) { n++ })))
			p.Printf("%d", n)
		}
		n := 0
		_, err := cc.NewStream(bad, rig.BidiDesc, rig.Bidi, grpc.OnFinish(func(err error) { n++ }))
		p.Printf("%s, %d", rig.Err(err), n)
		_ = cc.Close()
		n = 0
		_, err = cc.NewStream(p.Context(), rig.BidiDesc, rig.Bidi, grpc.OnFinish(func(err error) { n++ }))
		p.Printf("%s, %d", rig.Err(err), n)
	}},
	{Name: "options by pointer", Run: func(p *probe.P) {
		cc := channelTo(p, server(p))
		var md, trailer metadata.MD
		p.Printf("%s", call(p.Context(), cc, &grpc.FailFastCallOption{FailFast: true}, &grpc.HeaderCallOption{HeaderAddr: &md}, &grpc.TrailerCallOption{TrailerAddr: &trailer},
			&grpc.MaxSendMsgSizeCallOption{MaxSendMsgSize: 100}, &grpc.EmptyCallOption{}))
		p.Printf("%s", rig.MD(md))
		p.Printf("%s", call(p.Context(), cc, &grpc.MaxSendMsgSizeCallOption{MaxSendMsgSize: 0}))
	}},
}

func numberEdges() []probe.Probe {
	var out []probe.Probe
	for name, opts := range map[string][]grpc.DialOption{
		"WithIdleTimeout -1":              {grpc.WithIdleTimeout(-1)},
		"WithIdleTimeout 1":               {grpc.WithIdleTimeout(1)},
		"WithBackoffMaxDelay 0":           {grpc.WithBackoffMaxDelay(0)},
		"WithBackoffMaxDelay -1":          {grpc.WithBackoffMaxDelay(-1)},
		"static, then initial window":     {grpc.WithStaticStreamWindowSize(1 << 20), grpc.WithInitialWindowSize(1 << 18)},
		"initial, then static window":     {grpc.WithInitialWindowSize(1 << 18), grpc.WithStaticStreamWindowSize(1 << 20)},
		"windows below the least":         {grpc.WithInitialWindowSize(1), grpc.WithInitialConnWindowSize(1)},
		"windows below 0":                 {grpc.WithInitialWindowSize(-1), grpc.WithInitialConnWindowSize(-1)},
		"static windows below 0":          {grpc.WithStaticStreamWindowSize(-1), grpc.WithStaticConnWindowSize(-1)},
		"buffers below 0":                 {grpc.WithReadBufferSize(-1), grpc.WithWriteBufferSize(-1)},
		"WithMaxCallAttempts 0":           {grpc.WithMaxCallAttempts(0)},
		"WithMaxCallAttempts -5":          {grpc.WithMaxCallAttempts(-5)},
		"WithMaxHeaderListSize 0":         {grpc.WithMaxHeaderListSize(0)},
		"WithUserAgent empty":             {grpc.WithUserAgent("")},
		"WithUserAgent of two lines":      {grpc.WithUserAgent("a\nb")},
		"WithAuthority empty":             {grpc.WithAuthority("")},
		"WithDisableRetry and attempts":   {grpc.WithDisableRetry(), grpc.WithMaxCallAttempts(9)},
		"WithDefaultServiceConfig empty":  {grpc.WithDefaultServiceConfig("")},
		"WithDefaultServiceConfig braces": {grpc.WithDefaultServiceConfig("{}")},
	} {
		out = append(out, probe.Probe{Name: "numbers/" + name, Run: func(p *probe.P) {
			s := rig.Pair{TCP: true}.Serve(p)
			cc, err := grpc.NewClient(s.Listener.Addr().String(), append([]grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}, opts...)...)
			if err != nil {
				p.Printf("%s", rig.Err(err))
				return
			}
			p.Cleanup(func() { _ = cc.Close() })
			p.Printf("%s", call(p.Context(), cc))
			probe.Settle(moment)
			p.Printf("%v %s", cc.GetState(), call(p.Context(), cc))
		}})
	}
	for name, opts := range map[string][]grpc.ServerOption{
		"MaxSendMsgSize -1":      {grpc.MaxSendMsgSize(-1)},
		"MaxSendMsgSize 0":       {grpc.MaxSendMsgSize(0)},
		"MaxSendMsgSize 4":       {grpc.MaxSendMsgSize(4)},
		"NumStreamWorkers":       {grpc.NumStreamWorkers(3)},
		"WaitForHandlers":        {grpc.WaitForHandlers(true)},
		"windows below 0":        {grpc.InitialWindowSize(-1), grpc.InitialConnWindowSize(-1)},
		"static windows below 0": {grpc.StaticStreamWindowSize(-1), grpc.StaticConnWindowSize(-1)},
		"buffers below 0":        {grpc.ReadBufferSize(-1), grpc.WriteBufferSize(-1)},
	} {
		out = append(out, probe.Probe{Name: "numbers of a server/" + name, Run: func(p *probe.P) {
			s := rig.Pair{TCP: true, Server: opts}.Serve(p)
			p.Printf("%s", call(p.Context(), channelTo(p, s.Listener.Addr().String())))
		}})
	}
	return out
}

var processEdges = []probe.Probe{
	{Name: "a metric twice", Alone: true, Run: func(p *probe.P) {
		d := estats.MetricDescriptor{Name: "grpc.probe.twice", Labels: []string{"a"}, Default: true}
		p.Printf("%v", estats.RegisterInt64Count(d) != nil)
		p.Printf("%v", estats.RegisterInt64Count(d) != nil)
	}},
	{Name: "a service twice", Alone: true, Run: func(p *probe.P) {
		s := grpc.NewServer()
		s.RegisterService(rig.Handlers{}.Desc(), nil)
		s.RegisterService(rig.Handlers{}.Desc(), nil)
		p.Printf("done")
	}},
	{Name: "a service of another type", Alone: true, Run: func(p *probe.P) {
		s := grpc.NewServer()
		d := *rig.Handlers{}.Desc()
		d.HandlerType = (*fmt.Stringer)(nil)
		s.RegisterService(&d, 5)
		p.Printf("done")
	}},
	{Name: "temporary sinks", Alone: true, Run: func(p *probe.P) {
		dir, err := os.MkdirTemp("", "edge")
		if err != nil {
			panic(err)
		}
		p.Cleanup(func() { _ = os.RemoveAll(dir) })
		_ = os.Setenv("TMPDIR", dir)
		s, err := binarylog.NewTempFileSink()
		p.Printf("%v", err)
		entries, _ := os.ReadDir(dir)
		p.Printf("%d files there", len(entries))
		p.Printf("%v", s.Close())
		p.Printf("%v", s.Close() != nil)
	}},
	{Name: "names of channelz", Run: func(p *probe.P) {
		told := make(chan string, 9)
		opt := withBalancer(p, func(cc balancer.ClientConn, o balancer.BuildOptions) balancer.Balancer {
			told <- fmt.Sprintf("%v", o.ChannelzParent)
			return configured{balancer.Get("pick_first").Build(cc, o), nil}
		})
		cc, r := manualChannel(p, opt)
		r.InitialState(addresses(server(p)))
		p.Printf("%s", call(p.Context(), cc))
		p.Printf("%v", strings.HasPrefix(<-told, "Channel #"))
		p.Printf("%v", cc.GetState() == connectivity.Ready)
	}},
}

func moreEdges() []probe.Probe {
	out := append(bufferEdges(), numberEdges()...)
	for _, more := range [][]probe.Probe{providerEdges, manualEdges, policyEdges, callEdges, processEdges} {
		out = append(out, more...)
	}
	return out
}
