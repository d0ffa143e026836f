// SPDX-License-Identifier: Apache-2.0

package main

import (
	"compress/gzip"
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http2"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
)

// failures are answers to an attempt that fails, or does not go on.
var failures = []answer{
	{"trailers only", headers(true, ok("grpc-status", "14", "grpc-message", "no")...)},
	{"trailers only, pushback", headers(true, ok("grpc-status", "14", "grpc-retry-pushback-ms", "1")...)},
	{"trailers only, no more", headers(true, ok("grpc-status", "14", "grpc-retry-pushback-ms", "-1")...)},
	{"headers, trailers", full(ok(), nil, "grpc-status", "14")},
	{"message, trailers", full(ok(), reply, "grpc-status", "14")},
	{"half a message, trailers", full(ok(), reply[:7], "grpc-status", "14")},
	{"two messages", endless(ok("h", "1"), append(reply[:len(reply):len(reply)], reply...))},
	{"two messages, trailers", full(ok("h", "1"), append(reply[:len(reply):len(reply)], reply...), "grpc-status", "0", "t", "1")},
	{"RST REFUSED_STREAM", func(r *rig.Raw, req rig.Request) { _ = r.WriteRSTStream(req.ID, http2.ErrCodeRefusedStream) }},
	{"RST INTERNAL_ERROR", func(r *rig.Raw, req rig.Request) { _ = r.WriteRSTStream(req.ID, http2.ErrCodeInternal) }},
	{"headers, RST REFUSED_STREAM", func(r *rig.Raw, req rig.Request) {
		r.Headers(req.ID, false, ok()...)
		_ = r.WriteRSTStream(req.ID, http2.ErrCodeRefusedStream)
	}},
	{"GOAWAY of all", goAway(0, http2.ErrCodeNo)},
	{"HTTP 503", headers(true, ":status", "503", "content-type", "text/plain")},
	{"HTTP 503, body without end", endless([]string{":status", "503", "content-type", "text/plain"}, []byte("busy"))},
	{"bad proto", full(ok(), rig.Frame(0, "\xff\xff"), "grpc-status", "14")},
	{"close", func(r *rig.Raw, _ rig.Request) { _ = r.Close() }},
	{"nothing", func(*rig.Raw, rig.Request) {}},
	{"headers", headers(false, ok()...)},
}

// retries are what a channel makes of failures.
var retries = []struct {
	name string
	opts []grpc.DialOption
}{
	{"no policy", nil},
	{"retries", []grpc.DialOption{grpc.WithDefaultServiceConfig(retryPolicy(goodRetry))}},
	{"retries disabled", []grpc.DialOption{grpc.WithDefaultServiceConfig(retryPolicy(goodRetry)), grpc.WithDisableRetry()}},
}

func failureProbes() []probe.Probe {
	var out []probe.Probe
	for _, f := range failures {
		for _, policy := range retries {
			for _, kind := range []string{"unary", "ServerStream", "Bidi"} {
				out = append(out, probe.Probe{Name: "failure/" + f.name + "/" + policy.name + "/" + kind, Run: func(p *probe.P) {
					attempts := &journal{}
					addr := failingServer(p, f, attempts)
					cc := readyTo(p, addr, policy.opts...)
					ctx, cancel := probe.WithTimeout(p.Context(), 3*moment)
					defer cancel()
					failed(ctx, p, cc, kind)
					cancel()
					probe.Settle(moment / 4)
					attempts.print(p)
				}})
			}
		}
	}
	return append(out, patienceProbes...)
}

// failingServer answers all with f, and tells what it was asked.
func failingServer(p *probe.P, f answer, attempts *journal) string {
	return rig.RawServer(p, func(r *rig.Raw) {
		for {
			frame, err := r.Next()
			if err != nil {
				return
			}
			switch frame := frame.(type) {
			case *http2.MetaHeadersFrame:
				req := rig.Request{Fields: frame.Fields}
				attempts.add("attempt %q", req.Get("grpc-previous-rpc-attempts"))
			case *http2.DataFrame:
				if len(frame.Data()) > 0 {
					f.do(r, rig.Request{ID: frame.StreamID})
				}
			}
		}
	})
}

// failed makes a call and prints all that is told of how it ends.
func failed(ctx context.Context, p *probe.P, cc *grpc.ClientConn, kind string) {
	finished := make(chan error, 1)
	var header, trailer metadata.MD
	opts := []grpc.CallOption{grpc.Header(&header), grpc.Trailer(&trailer), grpc.OnFinish(func(err error) { finished <- err })}
	if kind == "unary" {
		out := new(rig.Msg)
		err := cc.Invoke(ctx, rig.Unary, rig.M("q"), out, opts...)
		p.Printf("Invoke: %q %s", out.GetValue(), rig.Err(err))
	} else {
		desc, method := rig.BidiDesc, rig.Bidi
		if kind == "ServerStream" {
			desc, method = rig.ServerStreamDesc, rig.ServerStream
		}
		stream, err := cc.NewStream(ctx, desc, method, opts...)
		if err != nil {
			p.Printf("NewStream: %s", rig.Err(err))
			return
		}
		p.Printf("SendMsg: %s", rig.Err(stream.SendMsg(rig.M("q"))))
		if !desc.ClientStreams {
			p.Printf("CloseSend: %s", rig.Err(stream.CloseSend()))
		}
		for said := `"`; said[0] == '"'; {
			said = receive(stream)()
			p.Printf("RecvMsg: %s", said)
		}
	}
	p.Printf("header %s trailer %s", rig.MD(header), rig.MD(trailer))
	select {
	case err := <-finished:
		p.Printf("OnFinish: %s", rig.Err(err))
	case <-probe.Quiet(moment):
		p.Printf("OnFinish waits")
	}
}

// patienceProbes are calls that wait for a connection.
var patienceProbes = []probe.Probe{
	{Name: "patience/server that says nothing", Run: func(p *probe.P) {
		addr := rig.ConnServer(p, func(net.Conn) { <-p.Context().Done() })
		waiting(p, channelTo(p, addr))
	}},
	{Name: "patience/server that closes", Run: func(p *probe.P) {
		addr := rig.ConnServer(p, func(c net.Conn) { _ = c.Close() })
		waiting(p, channelTo(p, addr))
	}},
	{Name: "patience/no streams allowed", Run: func(p *probe.P) {
		addr := rig.RawServerSettings(p, []http2.Setting{{ID: http2.SettingMaxConcurrentStreams}}, func(r *rig.Raw) {
			for {
				if _, err := r.Next(); err != nil {
					return
				}
			}
		})
		waiting(p, readyTo(p, addr))
	}},
	{Name: "patience/streams allowed later", Run: func(p *probe.P) {
		allow := make(chan struct{})
		var mu sync.Mutex
		addr := rig.RawServerSettings(p, []http2.Setting{{ID: http2.SettingMaxConcurrentStreams}}, func(r *rig.Raw) {
			go func() {
				<-allow
				mu.Lock()
				defer mu.Unlock()
				_ = r.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 1})
			}()
			for {
				req, err := r.AcceptAll()
				if err != nil {
					return
				}
				mu.Lock()
				full(ok(), reply, "grpc-status", "0")(r, req)
				mu.Unlock()
			}
		})
		cc := readyTo(p, addr)
		probe.Settle(moment / 4) // for the SETTINGS
		wait := within(p, "Invoke", func() string {
			return rig.Err(cc.Invoke(p.Context(), rig.Unary, rig.M("q"), new(rig.Msg)))
		})
		close(allow)
		wait()
	}},
	{Name: "patience/window of 0", Limit: 20 * time.Second, Run: func(p *probe.P) {
		addr := rig.RawServerSettings(p, []http2.Setting{{ID: http2.SettingInitialWindowSize}}, func(r *rig.Raw) {
			for {
				if _, err := r.Next(); err != nil {
					return
				}
			}
		})
		cc := readyTo(p, addr)
		probe.Settle(moment / 4)
		waiting(p, cc)
		ctx, cancel := context.WithCancel(p.Context())
		defer cancel()
		stream, err := cc.NewStream(ctx, rig.BidiDesc, rig.Bidi)
		p.Printf("NewStream: %s", rig.Err(err))
		big := rig.M(strings.Repeat("x", 100_000))
		for range 3 {
			wait := within(p, "SendMsg", func() string { return rig.Err(stream.SendMsg(big)) })
			cancel()
			wait()
		}
	}},
	{Name: "patience/Close of the channel", Run: func(p *probe.P) {
		addr := rig.ConnServer(p, func(net.Conn) { <-p.Context().Done() })
		cc := channelTo(p, addr)
		var waits []func() bool
		for _, ready := range []bool{false, true} {
			waits = append(waits, within(p, fmt.Sprint("Invoke ", ready), func() string {
				return rig.Err(cc.Invoke(p.Context(), rig.Unary, rig.M("q"), new(rig.Msg), grpc.WaitForReady(ready)))
			}))
		}
		p.Printf("Close: %v", cc.Close())
		for _, wait := range waits {
			wait()
		}
	}},
	{Name: "patience/Close of the channel beside calls", Run: func(p *probe.P) {
		s, began, ended := blocking(p)
		waits := []func() bool{
			within(p, "Invoke", func() string {
				return rig.Err(s.Invoke(p.Context(), rig.Unary, rig.M("q"), new(rig.Msg)))
			}),
		}
		<-began
		stream, _ := s.NewStream(p.Context(), rig.BidiDesc, rig.Bidi)
		<-began
		waits = append(waits, within(p, "RecvMsg", receive(stream)))
		p.Printf("Close: %v", s.Close())
		for _, wait := range waits {
			wait()
		}
		said := []string{fmt.Sprint(<-ended), fmt.Sprint(<-ended)}
		slices.Sort(said)
		p.Printf("the server: %q", said)
	}},
	{Name: "patience/interceptor that calls twice", Run: func(p *probe.P) {
		n := 0
		again := func(ctx context.Context, m string, req, rep any, cc *grpc.ClientConn, next grpc.UnaryInvoker, o ...grpc.CallOption) error {
			_ = next(ctx, m, req, rep, cc, o...)
			return next(ctx, m, req, rep, cc, o...)
		}
		s := rig.Pair{Dial: []grpc.DialOption{grpc.WithUnaryInterceptor(again)}, Handlers: rig.Handlers{
			Unary: func(_ context.Context, m *rig.Msg) (*rig.Msg, error) { n++; return m, nil },
		}}.Start(p)
		finished := 0
		err := s.Invoke(p.Context(), rig.Unary, rig.M("q"), new(rig.Msg), grpc.OnFinish(func(error) { finished++ }))
		p.Printf("%s %d %d", rig.Err(err), n, finished)
	}},
	{Name: "patience/limit of what is received", Run: func(p *probe.P) {
		for _, body := range [][]byte{
			[]byte("\x00\x00\x00\x00\x0b"), []byte("\x00\x00\x00\x00\x0a"), append([]byte("\x00\x00\x00\x00\x0a"), "\x0a\x08xxxxxxxx"...),
		} {
			addr, seen := haltingServer(p, answer{do: endless(ok(), body)}, true)
			cc := readyTo(p, addr)
			ctx, cancel := context.WithCancel(p.Context())
			wait := within(p, "Invoke", func() string {
				return rig.Err(cc.Invoke(ctx, rig.Unary, rig.M("q"), new(rig.Msg), grpc.MaxCallRecvMsgSize(10)))
			})
			cancel()
			wait()
			probe.Settle(moment / 4)
			seen.print(p, "the server")
		}
	}},
	{Name: "patience/compressed reply over the limit", Run: func(p *probe.P) {
		bomb := new(strings.Builder)
		addr, seen := haltingServer(p, answer{do: endless(ok("grpc-encoding", "gzip"), rig.Frame(1, zipped(bomb, 10_000)))}, true)
		cc := readyTo(p, addr)
		ctx, cancel := context.WithCancel(p.Context())
		wait := within(p, "Invoke", func() string {
			return rig.Err(cc.Invoke(ctx, rig.Unary, rig.M("q"), new(rig.Msg), grpc.MaxCallRecvMsgSize(1000)))
		})
		cancel()
		wait()
		probe.Settle(moment / 4)
		seen.print(p, "the server")
	}},
}

// waiting are calls that may have to wait, with and without patience, and their deadlines.
func waiting(p *probe.P, cc *grpc.ClientConn) {
	for _, ready := range []bool{false, true} {
		ctx, expire := probe.WithExpiry(p.Context())
		wait := within(p, fmt.Sprint("Invoke ", ready), func() string {
			err := cc.Invoke(ctx, rig.Unary, rig.M("q"), new(rig.Msg), grpc.WaitForReady(ready))
			return scrubWaits(rig.Err(err))
		})
		expire()
		wait()
		ctx, cancel := context.WithCancel(p.Context())
		wait = within(p, fmt.Sprint("NewStream ", ready), func() string {
			_, err := cc.NewStream(ctx, rig.BidiDesc, rig.Bidi, grpc.WaitForReady(ready))
			return scrubWaits(rig.Err(err))
		})
		cancel()
		wait()
	}
}

// scrubWaits leaves of a text what does not depend on which failure was the last.
func scrubWaits(text string) string {
	before, _, _ := strings.Cut(text, ": \"")
	for _, part := range []string{
		"context deadline exceeded", "while waiting for connections to become ready", "latest balancer error", "received prior goaway",
		"closing transport",
	} {
		if strings.Contains(text, part) {
			before += ", " + part
		}
	}
	return before
}

// zipped is a message of n bytes, compressed.
func zipped(b *strings.Builder, n int) string {
	w := gzip.NewWriter(b)
	_, _ = w.Write(append([]byte{0x0a, byte(n%128) | 0x80, byte(n / 128)}, make([]byte, n)...))
	_ = w.Close()
	return b.String()
}
