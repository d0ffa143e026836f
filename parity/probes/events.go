// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http2"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
)

// tagged is a handler whose contexts tell what they went through.
type tagged struct {
	name string
	j    *journal
}

type tagKey struct{}

func (t tagged) note(ctx context.Context) string {
	s, _ := ctx.Value(tagKey{}).(string)
	return s
}

func (t tagged) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context {
	t.j.add("%s TagConn after %q", t.name, t.note(ctx))
	return context.WithValue(ctx, tagKey{}, t.note(ctx)+"|conn "+t.name)
}

func (t tagged) HandleConn(ctx context.Context, s stats.ConnStats) {
	t.j.add("%s %s with %q", t.name, strings.TrimPrefix(fmt.Sprintf("%T", s), "*stats."), t.note(ctx))
}

func (t tagged) TagRPC(ctx context.Context, i *stats.RPCTagInfo) context.Context {
	t.j.add("%s TagRPC %s after %q", t.name, i.FullMethodName, t.note(ctx))
	return context.WithValue(ctx, tagKey{}, t.note(ctx)+"|rpc "+t.name)
}

func (t tagged) HandleRPC(ctx context.Context, s stats.RPCStats) {
	if _, beside := s.(*stats.InTrailer); !beside { // they come beside the messages before them, in any order
		t.j.add("%s %s with %q", t.name, strings.TrimPrefix(fmt.Sprintf("%T", s), "*stats."), t.note(ctx))
	}
}

// raws are what a client may do to a server whose events are looked at.
var raws = []struct {
	name string
	do   func(*rig.Raw)
}{
	{"a call", func(r *rig.Raw) { ask(r, 1); answered(r, 1) }},
	{"headers that end it", func(r *rig.Raw) { r.Headers(1, true, rig.RequestFields()...); answered(r, 1) }},
	{"an unknown service", func(r *rig.Raw) { r.Headers(1, true, rig.RequestFields(":path", "/no/Such")...); answered(r, 1) }},
	{"an unknown method", func(r *rig.Raw) { r.Headers(1, true, rig.RequestFields(":path", "/probe.Probe/No")...); answered(r, 1) }},
	{"a malformed path", func(r *rig.Raw) { r.Headers(1, true, rig.RequestFields(":path", "nothing")...); answered(r, 1) }},
	{"an unknown encoding", func(r *rig.Raw) {
		r.Headers(1, false, rig.RequestFields("grpc-encoding", "nope")...)
		_ = r.WriteData(1, true, rig.Frame(1, "x"))
		answered(r, 1)
	}},
	{"an unknown content-type", func(r *rig.Raw) {
		r.Headers(1, true, rig.RequestFields("content-type", "text/html")...)
		answered(r, 1)
	}},
	{"a bad timeout", func(r *rig.Raw) { r.Headers(1, true, rig.RequestFields("grpc-timeout", "x")...); answered(r, 1) }},
	{"a timeout that is over", func(r *rig.Raw) { r.Headers(1, true, rig.RequestFields("grpc-timeout", "0n")...); answered(r, 1) }},
	{"half a message", func(r *rig.Raw) {
		r.Headers(1, false, rig.RequestFields()...)
		_ = r.WriteData(1, true, rig.Message("hello")[:7])
		answered(r, 1)
	}},
	{"two messages", func(r *rig.Raw) {
		r.Headers(1, false, rig.RequestFields()...)
		_ = r.WriteData(1, true, append(rig.Message("a"), rig.Message("b")...))
		answered(r, 1)
	}},
	{"garbage in place of a message", func(r *rig.Raw) {
		r.Headers(1, false, rig.RequestFields()...)
		_ = r.WriteData(1, true, rig.Frame(0, "\xff\xff"))
		answered(r, 1)
	}},
	{"a GOAWAY", func(r *rig.Raw) {
		ask(r, 1)
		answered(r, 1)
		_ = r.WriteGoAway(0, http2.ErrCodeNo, nil)
	}},
	{"a bad preface", func(r *rig.Raw) { _, _ = r.Write([]byte("nonsense that is no frame at all, and long")) }},
}

// lateTaps are taps after which a call has ended, or has not.
var lateTaps = []struct {
	name string
	tap  tap.ServerInHandle
}{
	{"waits for the deadline", func(ctx context.Context, _ *tap.Info) (context.Context, error) { <-ctx.Done(); return ctx, nil }},
	{"fails after the deadline", func(ctx context.Context, _ *tap.Info) (context.Context, error) { <-ctx.Done(); return nil, ctx.Err() }},
	{"cancels", func(ctx context.Context, _ *tap.Info) (context.Context, error) {
		ctx, cancel := context.WithCancel(ctx)
		cancel()
		return ctx, nil
	}},
}

// tapLate makes a call with a deadline, and prints what of it runs.
func tapLate(p *probe.P, handle tap.ServerInHandle, method string) {
	j := &journal{}
	s := rig.Pair{TCP: true, Server: []grpc.ServerOption{
		grpc.StatsHandler(tagged{"a", j}), grpc.InTapHandle(handle),
		grpc.UnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			j.add("interceptor")
			return next(ctx, req)
		}),
		grpc.StreamInterceptor(func(srv any, st grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			j.add("interceptor")
			return next(srv, st)
		}),
	}}.Start(p)
	s.Ready(p)
	ctx, cancel := context.WithTimeout(p.Context(), time.Second) // the RPC begins well before
	defer cancel()
	stream, err := s.NewStream(ctx, rig.BidiDesc, method)
	if err == nil {
		_ = stream.SendMsg(rig.M("x"))
		_ = stream.CloseSend()
		err = stream.RecvMsg(new(rig.Msg))
	}
	// Whose deadline passes first is chance.
	p.OneOf("code", status.Code(err).String(), codes.DeadlineExceeded.String(), codes.PermissionDenied.String())
	endBoth(p, s, j)
}

// boundHandlers are handlers that wait when the time is over that their tap has given them.
var boundHandlers = []struct {
	name   string
	handle func(grpc.ServerStream) error
}{
	{"receives", func(st grpc.ServerStream) error { return st.RecvMsg(new(rig.Msg)) }},
	{"sends", func(st grpc.ServerStream) error {
		for {
			if err := st.SendMsg(rig.M(strings.Repeat("x", 1<<16))); err != nil {
				return err
			}
		}
	}},
	{"waits for its context", func(st grpc.ServerStream) error {
		<-st.Context().Done()
		return st.Context().Err()
	}},
	{"sends later", func(st grpc.ServerStream) error {
		<-st.Context().Done()
		probe.Settle(0)
		return st.SendMsg(rig.M("x"))
	}},
}

// tapBound makes a call that the tap gives little time, and that the client leaves alone.
func tapBound(p *probe.P, handle func(grpc.ServerStream) error) {
	j := &journal{}
	handled := make(chan string, 1)
	s := rig.Pair{TCP: true, Server: []grpc.ServerOption{
		grpc.InTapHandle(func(ctx context.Context, _ *tap.Info) (context.Context, error) {
			ctx, cancel := context.WithTimeout(ctx, moment)
			p.Cleanup(cancel)
			return ctx, nil
		}),
	}, Handlers: rig.Handlers{Stream: func(st grpc.ServerStream) error {
		err := handle(st)
		handled <- rig.Err(err)
		return err
	}}}.Start(p)
	s.Ready(p)
	ctx, cancel := context.WithCancel(p.Context())
	defer cancel()
	stream, err := s.NewStream(ctx, rig.BidiDesc, rig.Bidi)
	if err != nil {
		p.Printf("%s", rig.Err(err))
		return
	}
	probe.Settle(4 * moment)
	select {
	case err := <-handled:
		p.Printf("handler: %s", err)
	default:
		p.Printf("handler: waits")
		cancel()
		p.Printf("handler, when the client is gone: %s", <-handled)
	}
	for err == nil {
		err = stream.RecvMsg(new(rig.Msg))
	}
	p.Printf("client: %s", rig.Err(err))
	endBoth(p, s, j)
}

// endBoth ends a pair, and prints what was told until all is over: the end of the connection at last,
// beside which the RPCs' own ends may come.
func endBoth(p *probe.P, s *rig.Started, j *journal) {
	probe.Settle(0)
	_ = s.Close()
	s.Server.GracefulStop()
	probe.Settle(0)
	j.mu.Lock()
	slices.SortStableFunc(j.lines, func(a, b string) int {
		return strings.Count(a, " ConnEnd ") - strings.Count(b, " ConnEnd ")
	})
	j.mu.Unlock()
	j.print(p)
}

func eventProbes() []probe.Probe {
	var out []probe.Probe
	for _, c := range raws {
		out = append(out, probe.Probe{Name: "server sees " + c.name, Run: func(p *probe.P) {
			rec := newRecorder()
			s := rig.Pair{TCP: true, Server: []grpc.ServerOption{grpc.StatsHandler(rec), grpc.WaitForHandlers(true)}}.Serve(p)
			r := rig.RawClient(p, s.Listener.Addr().String())
			c.do(r)
			probe.Settle(0) // the server has seen it
			_ = r.Close()
			s.Server.GracefulStop()
			rec.print(p, "server")
			rec.printConns(p)
		}})
	}
	for _, c := range lateTaps {
		for _, method := range []string{rig.Unary, rig.Bidi} {
			out = append(out, probe.Probe{Name: "server sees a tap that " + c.name + method, Run: func(p *probe.P) { tapLate(p, c.tap, method) }})
		}
	}
	for _, h := range boundHandlers {
		out = append(out, probe.Probe{Name: "tap with a timeout, handler " + h.name, Run: func(p *probe.P) { tapBound(p, h.handle) }})
	}
	return append(out, contextEventProbes...)
}

var contextEventProbes = []probe.Probe{
	{Name: "contexts of a server's handlers", Run: func(p *probe.P) {
		j := &journal{}
		s := rig.Pair{TCP: true, Server: []grpc.ServerOption{grpc.StatsHandler(tagged{"a", j}), grpc.StatsHandler(tagged{"b", j})}, Handlers: rig.Handlers{
			Unary: func(ctx context.Context, m *rig.Msg) (*rig.Msg, error) {
				j.add("handler with %q", tagged{}.note(ctx))
				return m, nil
			},
		}}.Start(p)
		s.Ready(p)
		p.Printf("%s", call(p.Context(), s))
		endBoth(p, s, j)
	}},
	{Name: "contexts of a client's handlers", Run: func(p *probe.P) {
		j := &journal{}
		s := rig.Pair{TCP: true, Dial: []grpc.DialOption{grpc.WithStatsHandler(tagged{"a", j}), grpc.WithStatsHandler(tagged{"b", j})}}.Start(p)
		s.Ready(p)
		p.Printf("%s", call(context.WithValue(p.Context(), tagKey{}, "caller"), s))
		stream, err := s.NewStream(context.WithValue(p.Context(), tagKey{}, "caller"), rig.BidiDesc, rig.Bidi)
		if err == nil {
			p.Printf("stream's context has %q", tagged{}.note(stream.Context()))
			_ = stream.CloseSend()
			_ = stream.RecvMsg(new(rig.Msg))
		}
		endBoth(p, s, j)
	}},
	{Name: "contexts and taps", Run: func(p *probe.P) {
		j := &journal{}
		s := rig.Pair{TCP: true, Server: []grpc.ServerOption{
			grpc.StatsHandler(tagged{"a", j}),
			grpc.InTapHandle(func(ctx context.Context, i *tap.Info) (context.Context, error) {
				j.add("tap %s with %q", i.FullMethodName, tagged{}.note(ctx))
				if i.FullMethodName == rig.Bidi {
					return nil, status.Error(codes.ResourceExhausted, "tapped")
				}
				return context.WithValue(ctx, tagKey{}, tagged{}.note(ctx)+"|tap"), nil
			}),
		}, Handlers: rig.Handlers{Unary: func(ctx context.Context, m *rig.Msg) (*rig.Msg, error) {
			j.add("handler with %q", tagged{}.note(ctx))
			return m, nil
		}}}.Start(p)
		s.Ready(p)
		p.Printf("%s", call(p.Context(), s))
		probe.Settle(0)
		p.Printf("%s", rig.Err(bidi(p, s).RecvMsg(new(rig.Msg))))
		endBoth(p, s, j)
	}},
	{Name: "events under interceptors", Run: func(p *probe.P) {
		j := &journal{}
		s := rig.Pair{TCP: true, Server: []grpc.ServerOption{
			grpc.StatsHandler(tagged{"stats", j}),
			grpc.UnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
				j.add("interceptor begins")
				defer j.add("interceptor ends")
				return next(ctx, req)
			}),
		}}.Start(p)
		s.Ready(p)
		p.Printf("%s", call(p.Context(), s))
		endBoth(p, s, j)
	}},
	{Name: "events over TLS", Run: func(p *probe.P) {
		cert, pool := rig.Certificate()
		client, server := newRecorder(), newRecorder()
		s := rig.Pair{
			TCP: true, Secure: true,
			Server: []grpc.ServerOption{grpc.Creds(credentials.NewServerTLSFromCert(&cert)), grpc.StatsHandler(server)},
			Dial: []grpc.DialOption{
				grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{RootCAs: pool, ServerName: "probe.example"})), grpc.WithStatsHandler(client),
			},
		}.Start(p)
		s.Ready(p)
		p.Printf("%s", call(p.Context(), s))
		_ = s.Close()
		s.Server.GracefulStop()
		client.print(p, "client")
		server.print(p, "server")
		server.printConns(p)
	}},
	{Name: "connections that fail", Run: func(p *probe.P) {
		cert, _ := rig.Certificate()
		server := newRecorder()
		s := rig.Pair{TCP: true, Server: []grpc.ServerOption{grpc.Creds(credentials.NewServerTLSFromCert(&cert)), grpc.StatsHandler(server)}}.Serve(p)
		conn, err := net.Dial("tcp", s.Listener.Addr().String())
		if err == nil {
			_, _ = conn.Write([]byte("no handshake"))
			_ = conn.Close()
		}
		s.Server.GracefulStop()
		server.printConns(p)
		client := newRecorder()
		cc := channelTo(p, "127.0.0.1:1", grpc.WithStatsHandler(client))
		p.Printf("%s", call(p.Context(), cc))
		_ = cc.Close()
		client.printConns(p)
		client.print(p, "client")
	}},
	{Name: "connections that come again", Run: func(p *probe.P) {
		client := newRecorder()
		s := rig.Pair{TCP: true}.Serve(p)
		cc := channelTo(p, s.Listener.Addr().String(), grpc.WithStatsHandler(client), quick)
		p.Printf("%s", call(p.Context(), cc))
		s.Server.Stop()
		for state := cc.GetState(); state.String() == "READY" && cc.WaitForStateChange(p.Context(), state); state = cc.GetState() {
		}
		_ = cc.Close()
		client.printConns(p)
	}},
	{Name: "sizes of payloads", Run: func(p *probe.P) {
		for _, opts := range [][]grpc.CallOption{nil, {grpc.UseCompressor(gzip.Name)}} {
			for _, n := range []int{0, 1, 100, 5000} {
				client := newRecorder()
				s := rig.Pair{TCP: true, Dial: []grpc.DialOption{grpc.WithStatsHandler(client)}}.Start(p)
				_, err := s.Call(p.Context(), strings.Repeat("x", n), opts...)
				p.Printf("%d %s", n, rig.Err(err))
				client.mu.Lock()
				for _, l := range client.rpcs {
					if strings.Contains(l, "Payload") {
						_, l, _ = strings.Cut(l, "length=")
						p.Printf("length=%s", l)
					}
				}
				client.mu.Unlock()
			}
		}
	}},
	{Name: "headers and trailers of a stream", Run: func(p *probe.P) {
		var mu sync.Mutex
		client, server := newRecorder(), newRecorder()
		s := rig.Pair{
			TCP: true, Dial: []grpc.DialOption{grpc.WithStatsHandler(client)}, Server: []grpc.ServerOption{grpc.StatsHandler(server)},
			Handlers: rig.Handlers{Stream: func(s grpc.ServerStream) error {
				mu.Lock()
				defer mu.Unlock()
				_ = s.SetHeader(metadata.Pairs("h", "1"))
				_ = s.SendHeader(metadata.Pairs("h", "2"))
				s.SetTrailer(metadata.Pairs("t", "1"))
				_ = s.RecvMsg(new(rig.Msg))
				return status.Error(codes.OutOfRange, "end")
			}},
		}.Start(p)
		s.Ready(p)
		stream := bidi(p, s)
		_, _ = stream.Header()
		_ = stream.SendMsg(rig.M("x"))
		p.Printf("%s", rig.Err(stream.RecvMsg(new(rig.Msg))))
		_ = s.Close()
		s.Server.GracefulStop()
		client.print(p, "client")
		server.print(p, "server")
	}},
}
