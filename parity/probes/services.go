// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/binarylog"
	binpb "google.golang.org/grpc/binarylog/grpc_binarylog_v1"
	czpb "google.golang.org/grpc/channelz/grpc_channelz_v1"
	czservice "google.golang.org/grpc/channelz/service"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/grpclog"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
	"google.golang.org/grpc/reflection"
	refpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
)

// httpRequests are given to ServeHTTP.
var httpRequests = []struct {
	name   string
	change func(*http.Request)
}{
	{"good", func(*http.Request) {}},
	{"GET", func(r *http.Request) { r.Method = "GET" }},
	{"HTTP 1", func(r *http.Request) { r.ProtoMajor, r.ProtoMinor = 1, 1 }},
	{"HTTP 1 GET html", func(r *http.Request) {
		r.ProtoMajor, r.Method = 1, "GET"
		r.Header.Set("content-type", "text/html")
	}},
	{"html", func(r *http.Request) { r.Header.Set("content-type", "text/html") }},
	{"no content type", func(r *http.Request) { r.Header.Del("content-type") }},
	{"proto", func(r *http.Request) { r.Header.Set("content-type", "application/grpc+proto") }},
	{"grpc-web", func(r *http.Request) { r.Header.Set("content-type", "application/grpc-web") }},
	{"unknown method", func(r *http.Request) { r.URL.Path = "/no/Such" }},
	{"bad timeout", func(r *http.Request) { r.Header.Set("grpc-timeout", "x") }},
	{"timeout", func(r *http.Request) { r.Header.Set("grpc-timeout", "1H") }},
	{"bad binary", func(r *http.Request) { r.Header.Set("a-bin", "!") }},
	{"binary", func(r *http.Request) { r.Header.Set("a-bin", "AAE") }},
	{"unknown encoding", func(r *http.Request) { r.Header.Set("grpc-encoding", "nope") }},
	{"no body", func(r *http.Request) { r.Body = http.NoBody }},
	{"half a body", func(r *http.Request) { r.Body = io.NopCloser(bytes.NewReader(rig.Message("hello")[:7])) }},
	{"fails", func(r *http.Request) { r.Header.Set("fail", "yes") }},
	{"fails after headers", func(r *http.Request) { r.Header.Set("fail", "late") }},
}

func httpProbes() []probe.Probe {
	var out []probe.Probe
	for _, c := range httpRequests {
		out = append(out, probe.Probe{Name: "ServeHTTP/" + c.name, Run: func(p *probe.P) {
			s := grpc.NewServer()
			s.RegisterService(rig.Handlers{Unary: func(ctx context.Context, m *rig.Msg) (*rig.Msg, error) {
				md, _ := metadata.FromIncomingContext(ctx)
				_ = grpc.SetHeader(ctx, metadata.Pairs("h", "1", "h-bin", "\x00"))
				_ = grpc.SetTrailer(ctx, metadata.Pairs("t", "1", "t-bin", "\x00"))
				switch fail := md["fail"]; {
				case slices.Equal(fail, []string{"late"}):
					_ = grpc.SendHeader(ctx, nil)
					fallthrough
				case len(fail) > 0:
					return nil, status.Error(codes.NotFound, "n f\n")
				}
				return rig.M(m.GetValue() + rig.MD(md)), nil
			}}.Desc(), nil)
			req := httptest.NewRequest(http.MethodPost, rig.Unary, bytes.NewReader(rig.Message("m")))
			req.ProtoMajor, req.ProtoMinor = 2, 0
			req.Header.Set("content-type", "application/grpc")
			c.change(req)
			w := httptest.NewRecorder()
			s.ServeHTTP(w, req)
			res := w.Result()
			p.Printf("%d written=%v %s", res.StatusCode, w.Code, rig.MD(metadata.MD(res.Header)))
			p.Printf("trailer %s", rig.MD(metadata.MD(res.Trailer)))
			body, _ := io.ReadAll(res.Body)
			p.Printf("%q flushed=%v", body, w.Flushed)
		}})
	}
	return out
}

var serviceProbes = []probe.Probe{
	{Name: "health/server", Run: func(p *probe.P) {
		s := health.NewServer()
		check := func(name string) {
			r, err := s.Check(p.Context(), &healthpb.HealthCheckRequest{Service: name})
			p.Printf("%q: %v %s", name, r.GetStatus(), rig.Err(err))
		}
		check("")
		check("x")
		s.SetServingStatus("x", healthpb.HealthCheckResponse_NOT_SERVING)
		check("x")
		s.Shutdown()
		check("")
		s.SetServingStatus("x", healthpb.HealthCheckResponse_SERVING)
		check("x")
		s.Resume()
		check("")
		check("x")
		l, err := s.List(p.Context(), &healthpb.HealthListRequest{})
		p.Printf("%d %s", len(l.GetStatuses()), rig.Err(err))
		for i := range 120 {
			s.SetServingStatus(fmt.Sprint("s", i), healthpb.HealthCheckResponse_SERVING)
		}
		_, err = s.List(p.Context(), &healthpb.HealthListRequest{})
		p.Printf("%s", rig.Err(err))
	}},
	{Name: "health/watch", Run: func(p *probe.P) {
		hs := health.NewServer()
		s := rig.Pair{}.Serve(p)
		_ = s
		gs := grpc.NewServer()
		healthpb.RegisterHealthServer(gs, hs)
		l := rig.Listen()
		go func() { _ = gs.Serve(l) }()
		p.Cleanup(gs.Stop)
		w, err := healthpb.NewHealthClient(channelTo(p, l.Addr().String())).Watch(p.Context(), &healthpb.HealthCheckRequest{Service: "x"})
		p.Printf("%s", rig.Err(err))
		next := func() {
			r, err := w.Recv()
			p.Printf("%v %s", r.GetStatus(), rig.Err(err))
		}
		next()
		hs.SetServingStatus("x", healthpb.HealthCheckResponse_SERVING)
		next()
		hs.SetServingStatus("x", healthpb.HealthCheckResponse_SERVING)
		hs.SetServingStatus("x", healthpb.HealthCheckResponse_NOT_SERVING)
		next()
		hs.Shutdown()
		hs.Resume()
		next()
	}},
	{Name: "health/client", Run: func(p *probe.P) {
		for _, c := range []string{"serving", "not serving", "unknown", "none"} {
			hs := health.NewServer()
			gs := grpc.NewServer()
			gs.RegisterService(rig.Handlers{}.Desc(), nil)
			if c != "none" {
				healthpb.RegisterHealthServer(gs, hs)
			}
			switch c {
			case "serving":
				hs.SetServingStatus("x", healthpb.HealthCheckResponse_SERVING)
			case "not serving":
				hs.SetServingStatus("x", healthpb.HealthCheckResponse_NOT_SERVING)
			}
			l := rig.Listen()
			go func() { _ = gs.Serve(l) }()
			p.Cleanup(gs.Stop)
			cc := channelTo(p, l.Addr().String(), grpc.WithDefaultServiceConfig(
				`{"loadBalancingConfig":[{"round_robin":{}}],"healthCheckConfig":{"serviceName":"x"}}`))
			p.Printf("%s: %s", c, call(p.Context(), cc))
		}
	}},
	{Name: "reflection", Run: func(p *probe.P) {
		gs := grpc.NewServer()
		reflection.Register(gs)
		healthpb.RegisterHealthServer(gs, health.NewServer())
		l := rig.Listen()
		go func() { _ = gs.Serve(l) }()
		p.Cleanup(gs.Stop)
		s, err := refpb.NewServerReflectionClient(channelTo(p, l.Addr().String())).ServerReflectionInfo(p.Context())
		p.Printf("%s", rig.Err(err))
		for _, req := range []*refpb.ServerReflectionRequest{
			{MessageRequest: &refpb.ServerReflectionRequest_ListServices{}},
			{Host: "h", MessageRequest: &refpb.ServerReflectionRequest_FileByFilename{FileByFilename: "no.proto"}},
			{MessageRequest: &refpb.ServerReflectionRequest_FileByFilename{FileByFilename: "grpc/health/v1/health.proto"}},
			{MessageRequest: &refpb.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: "no.Such"}},
			{MessageRequest: &refpb.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: "grpc.health.v1.Health.Check"}},
			{MessageRequest: &refpb.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: "google.protobuf.FieldOptions"}},
			{MessageRequest: &refpb.ServerReflectionRequest_FileContainingExtension{FileContainingExtension: &refpb.ExtensionRequest{ContainingType: "no.Such", ExtensionNumber: 1}}},
			{MessageRequest: &refpb.ServerReflectionRequest_AllExtensionNumbersOfType{AllExtensionNumbersOfType: "no.Such"}},
			{MessageRequest: &refpb.ServerReflectionRequest_AllExtensionNumbersOfType{AllExtensionNumbersOfType: "grpc.health.v1.HealthCheckRequest"}},
			{},
		} {
			_ = s.Send(req)
			r, err := s.Recv()
			if err != nil {
				p.Printf("%s", rig.Err(err))
				break
			}
			var names []string
			for _, n := range r.GetListServicesResponse().GetService() {
				names = append(names, n.GetName())
			}
			p.Printf("%T host=%q original=%v error=%v files=%d services=%q", r.GetMessageResponse(), r.GetValidHost(), r.GetOriginalRequest() != nil, r.GetErrorResponse(),
				len(r.GetFileDescriptorResponse().GetFileDescriptorProto()), names)
		}
	}},
	{Name: "bufconn", Run: func(p *probe.P) {
		l := bufconn.Listen(4)
		p.Printf("%v %v", l.Addr(), l.Addr().Network())
		go func() {
			c, err := l.Accept()
			if err == nil {
				_, _ = io.Copy(c, c)
				_ = c.Close()
			}
		}()
		c, err := l.Dial()
		p.Printf("%v %v %v", err, c.LocalAddr(), c.RemoteAddr())
		go func() { _, _ = c.Write([]byte("0123456789")) }()
		b := make([]byte, 10)
		n, err := io.ReadFull(c, b)
		p.Printf("%d %v %s", n, err, b)
		p.Printf("%v", c.Close())
		_, err = c.Write([]byte("x"))
		p.Printf("write %v", err)
		_, err = c.Read(b)
		p.Printf("read %v", err)
		p.Printf("%v", l.Close())
		p.Printf("%v", l.Close())
		_, err = l.Dial()
		p.Printf("dial %v", err)
		_, err = l.Accept()
		p.Printf("accept %v", err)
		ctx, cancel := context.WithCancel(p.Context())
		cancel()
		_, err = bufconn.Listen(1).DialContext(ctx)
		p.Printf("canceled %v", err)
	}},
	{Name: "empty authority", Run: func(p *probe.P) {
		for _, target := range []string{"passthrough:///", "passthrough:///bufnet", "bufnet"} {
			s := rig.Pair{}.Serve(p)
			cc := dialOrSay(p, target, grpc.WithTransportCredentials(insecure.NewCredentials()),
				grpc.WithContextDialer(dialerOf(s.Listener.(*bufconn.Listener))))
			if cc != nil && target != "bufnet" {
				p.Printf("%s: %s", target, call(p.Context(), cc))
			}
		}
		s := rig.Pair{}.Serve(p)
		cc, err := grpc.Dial("", grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithContextDialer(dialerOf(s.Listener.(*bufconn.Listener))))
		p.Printf("Dial: %s", rig.Err(err))
		if err == nil {
			p.Printf("%s", call(p.Context(), cc))
			_ = cc.Close()
		}
		r, err := manualEmpty(p, s.Listener.(*bufconn.Listener))
		p.Printf("manual: %s %s", r, rig.Err(err))
	}},
	{Name: "channelz", Alone: true, Run: func(p *probe.P) {
		s := rig.Pair{TCP: true}.Start(p)
		s.Ready(p)
		_, _ = s.Call(p.Context(), "x")
		_ = s.Invoke(p.Context(), "/no/Such", rig.M(""), new(rig.Msg))
		_ = s.Invoke(p.Context(), "/probe.Probe/No", rig.M(""), new(rig.Msg))
		_, _ = s.Call(p.Context(), "x", grpc.MaxCallSendMsgSize(0))
		printChannelz(p)
	}},
	{Name: "channelz after Close", Alone: true, Run: func(p *probe.P) {
		s := rig.Pair{TCP: true}.Start(p)
		s.Ready(p)
		_ = s.Close()
		s.Server.Stop()
		p.Printf("%s", rig.Err(<-s.Served))
		printChannelz(p)
	}},
	{Name: "channelz of what is not there", Alone: true, Run: func(p *probe.P) {
		c := channelzClient(p)
		_, err := c.GetChannel(p.Context(), &czpb.GetChannelRequest{ChannelId: 9999})
		p.Printf("%s", rig.Err(err))
		_, err = c.GetSubchannel(p.Context(), &czpb.GetSubchannelRequest{SubchannelId: 9999})
		p.Printf("%s", rig.Err(err))
		_, err = c.GetServer(p.Context(), &czpb.GetServerRequest{ServerId: 9999})
		p.Printf("%s", rig.Err(err))
		_, err = c.GetSocket(p.Context(), &czpb.GetSocketRequest{SocketId: 9999})
		p.Printf("%s", rig.Err(err))
		socks, err := c.GetServerSockets(p.Context(), &czpb.GetServerSocketsRequest{ServerId: 9999})
		p.Printf("%d %v %s", len(socks.GetSocketRef()), socks.GetEnd(), rig.Err(err))
		r, err := c.GetTopChannels(p.Context(), &czpb.GetTopChannelsRequest{StartChannelId: 9999})
		p.Printf("%v %v %s", len(r.GetChannel()), r.GetEnd(), rig.Err(err))
	}},
	{Name: "binary log", Env: []string{"GRPC_BINARY_LOG_FILTER=*"}, Run: func(p *probe.P) {
		sink := &binSink{}
		binarylog.SetSink(sink)
		s := rig.Pair{TCP: true}.Start(p)
		s.Ready(p)
		_, _ = s.Call(metadata.AppendToOutgoingContext(p.Context(), "k", "v"), "x")
		_ = s.Close()
		s.Server.GracefulStop()
		sink.print(p)
	}},
	{Name: "binary log of a stream", Env: []string{"GRPC_BINARY_LOG_FILTER=probe.Probe/*{h:10;m:2}"}, Run: func(p *probe.P) {
		sink := &binSink{}
		binarylog.SetSink(sink)
		s := rig.Pair{TCP: true}.Start(p)
		s.Ready(p)
		stream := bidi(p, s)
		_ = stream.SendMsg(rig.M("hello"))
		_ = stream.RecvMsg(new(rig.Msg))
		_ = stream.CloseSend()
		_ = stream.RecvMsg(new(rig.Msg))
		_ = s.Close()
		s.Server.GracefulStop()
		sink.print(p)
	}},
	{Name: "binary log of a canceled call", Env: []string{"GRPC_BINARY_LOG_FILTER=*"}, Run: func(p *probe.P) {
		sink := &binSink{}
		binarylog.SetSink(sink)
		s, began, _ := blocking(p)
		s.Ready(p)
		ctx, cancel := context.WithCancel(p.Context())
		go func() { <-began; cancel() }()
		p.Printf("%s", call(ctx, s))
		probe.Settle(0)
		_ = s.Close()
		s.Server.GracefulStop()
		sink.print(p)
	}},
	{Name: "binary log bad filter", Env: []string{"GRPC_BINARY_LOG_FILTER=a/b/c{x}"}, Run: func(p *probe.P) {
		sink := &binSink{}
		binarylog.SetSink(sink)
		s := rig.Pair{}.Start(p)
		p.Printf("%s", call(p.Context(), s))
		sink.print(p)
	}},
	{Name: "log lines", Alone: true, Run: func(p *probe.P) {
		var buf bytes.Buffer
		l := grpclog.NewLoggerV2WithVerbosity(&buf, io.Discard, io.Discard, 2)
		l.Info("a", 1, 2, "b")
		l.Infof("%d", 5)
		l.Infoln("x", "y")
		l.Warning("w")
		p.Printf("%v %v", l.V(2), l.V(3))
		for line := range strings.Lines(buf.String()) {
			fields := strings.Fields(line)
			p.Printf("%d fields, level at %d: %s", len(fields), slices.Index(fields, "INFO:"), fields[len(fields)-1])
		}
	}},
	{Name: "log to stderr", Env: []string{"GRPC_GO_LOG_SEVERITY_LEVEL=info", "GRPC_GO_LOG_VERBOSITY_LEVEL=99", "GRPC_GO_LOG_FORMATTER=json"}, Run: func(p *probe.P) {
		p.Printf("%v", grpclog.V(99))
		p.Printf("%v", grpclog.Component("c").V(99))
	}},
	{Name: "no advertised compressors", Env: []string{"GRPC_GO_ADVERTISE_COMPRESSORS=false"}, Run: func(p *probe.P) {
		s := rig.Pair{Handlers: rig.Handlers{Unary: func(ctx context.Context, _ *rig.Msg) (*rig.Msg, error) {
			md, _ := metadata.FromIncomingContext(ctx)
			return rig.M(rig.MD(md)), nil
		}}}.Start(p)
		p.Printf("%s", call(p.Context(), s))
	}},
	{Name: "proxy", Env: []string{"HTTPS_PROXY=http://127.0.0.1:1"}, Run: func(p *probe.P) {
		cc := channelTo(p, "dns:///192.0.2.1:5", quick)
		p.Printf("%s", call(p.Context(), cc))
		cc = channelTo(p, "passthrough:///192.0.2.1:5", quick)
		cc.Connect()
		p.Printf("%v", cc.GetState() != connectivity.Ready)
	}},
}

// numbers of channelz depend on what else is there.
var numbers = regexp.MustCompile(`#?\b[0-9]+\b`)

func scrubIDs(s string) string { return numbers.ReplaceAllString(s, "N") }

func dialerOf(l *bufconn.Listener) func(context.Context, string) (net.Conn, error) {
	return func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }
}

// manualEmpty calls through a manual resolver whose target has no name.
func manualEmpty(p *probe.P, l *bufconn.Listener) (string, error) {
	return call(p.Context(), channelTo(p, "passthrough:///", grpc.WithContextDialer(dialerOf(l)))), nil
}

type binSink struct {
	mu      sync.Mutex
	entries []*binpb.GrpcLogEntry
}

func (s *binSink) Write(e *binpb.GrpcLogEntry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entries = append(s.entries, e)
	return nil
}
func (*binSink) Close() error { return nil }

// print prints what was logged once all has been.
func (s *binSink) print(p *probe.P) {
	probe.Settle(0)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, side := range []binpb.GrpcLogEntry_Logger{binpb.GrpcLogEntry_LOGGER_CLIENT, binpb.GrpcLogEntry_LOGGER_SERVER} {
		for _, e := range s.entries {
			if e.GetLogger() != side {
				continue
			}
			var keys []string
			for _, m := range append(e.GetClientHeader().GetMetadata().GetEntry(), e.GetServerHeader().GetMetadata().GetEntry()...) {
				keys = append(keys, fmt.Sprintf("%s=%s", m.GetKey(), m.GetValue()))
			}
			slices.Sort(keys)
			trailers := e.GetTrailer().GetMetadata().GetEntry() // in the order of a map
			slices.SortFunc(trailers, func(a, b *binpb.MetadataEntry) int { return strings.Compare(a.GetKey(), b.GetKey()) })
			p.Printf("%v %d %v peer=%v truncated=%v %q method=%q authority=%v timeout=%v message=%d trailer=%v", side, e.GetSequenceIdWithinCall(), e.GetType(),
				e.GetPeer().GetType(), e.GetPayloadTruncated(), keys, e.GetClientHeader().GetMethodName(), e.GetClientHeader().GetAuthority() != "",
				e.GetClientHeader().GetTimeout() != nil, e.GetMessage().GetLength(), e.GetTrailer())
		}
	}
}

func channelzClient(p *probe.P) czpb.ChannelzClient {
	gs := grpc.NewServer()
	czservice.RegisterChannelzServiceToServer(gs)
	l := bufconn.Listen(1 << 20)
	go func() { _ = gs.Serve(l) }()
	p.Cleanup(gs.Stop)
	return czpb.NewChannelzClient(channelTo(p, "passthrough:///channelz", grpc.WithContextDialer(dialerOf(l))))
}

func printChannelz(p *probe.P) {
	probe.Settle(0) // the other end counts later
	c := channelzClient(p)
	top, err := c.GetTopChannels(p.Context(), &czpb.GetTopChannelsRequest{})
	p.Printf("%s end=%v", rig.Err(err), top.GetEnd())
	for _, ch := range top.GetChannel() {
		if strings.Contains(ch.GetData().GetTarget(), "channelz") {
			continue
		}
		d := ch.GetData()
		p.Printf("channel %q %q %v calls=%d,%d,%d", ch.GetRef().GetName(), d.GetTarget(), d.GetState().GetState(), d.GetCallsStarted(), d.GetCallsSucceeded(), d.GetCallsFailed())
		for _, e := range d.GetTrace().GetEvents() {
			p.Printf("  %v %q child=%v", e.GetSeverity(), scrubIDs(e.GetDescription()), e.GetChildRef() != nil)
		}
		for _, ref := range ch.GetSubchannelRef() {
			sub, err := c.GetSubchannel(p.Context(), &czpb.GetSubchannelRequest{SubchannelId: ref.GetSubchannelId()})
			d := sub.GetSubchannel().GetData()
			p.Printf("subchannel %s %q %q %v calls=%d,%d,%d sockets=%d", rig.Err(err), ref.GetName(), d.GetTarget(), d.GetState().GetState(), d.GetCallsStarted(), d.GetCallsSucceeded(),
				d.GetCallsFailed(), len(sub.GetSubchannel().GetSocketRef()))
			for _, e := range d.GetTrace().GetEvents() {
				p.Printf("  %v %q", e.GetSeverity(), scrubIDs(e.GetDescription()))
			}
			for _, ref := range sub.GetSubchannel().GetSocketRef() {
				printSocket(p, c, ref)
			}
		}
	}
	servers, err := c.GetServers(p.Context(), &czpb.GetServersRequest{})
	p.Printf("%s end=%v", rig.Err(err), servers.GetEnd())
	for _, s := range servers.GetServer() {
		d := s.GetData()
		if listens, _ := c.GetSocket(p.Context(), &czpb.GetSocketRequest{SocketId: listenID(s)}); listens.GetSocket().GetLocal().GetTcpipAddress() == nil {
			continue // that of channelz itself
		}
		p.Printf("server %q calls=%d,%d,%d listen=%d", s.GetRef().GetName(), d.GetCallsStarted(), d.GetCallsSucceeded(), d.GetCallsFailed(), len(s.GetListenSocket()))
		for _, e := range d.GetTrace().GetEvents() {
			p.Printf("  %v %q", e.GetSeverity(), scrubIDs(e.GetDescription()))
		}
		socks, err := c.GetServerSockets(p.Context(), &czpb.GetServerSocketsRequest{ServerId: s.GetRef().GetServerId()})
		p.Printf("sockets %d %s", len(socks.GetSocketRef()), rig.Err(err))
		for _, ref := range socks.GetSocketRef() {
			printSocket(p, c, ref)
		}
	}
}

func listenID(s *czpb.Server) int64 {
	if l := s.GetListenSocket(); len(l) > 0 {
		return l[0].GetSocketId()
	}
	return 0
}

func printSocket(p *probe.P, c czpb.ChannelzClient, ref *czpb.SocketRef) {
	s, err := c.GetSocket(p.Context(), &czpb.GetSocketRequest{SocketId: ref.GetSocketId()})
	d := s.GetSocket().GetData()
	p.Printf("socket %s streams=%d,%d,%d messages=%d,%d keepalives=%d local=%v remote=%v security=%v name=%q remotename=%q", rig.Err(err), d.GetStreamsStarted(), d.GetStreamsSucceeded(),
		d.GetStreamsFailed(), d.GetMessagesSent(), d.GetMessagesReceived(), d.GetKeepAlivesSent(), s.GetSocket().GetLocal().GetTcpipAddress() != nil,
		s.GetSocket().GetRemote().GetTcpipAddress() != nil, s.GetSocket().GetSecurity(), ref.GetName(), s.GetSocket().GetRemoteName())
}
