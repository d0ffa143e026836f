// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http2"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
	"google.golang.org/grpc/status"
)

// streamProbes are what clients do with streams.
var streamProbes = []probe.Probe{
	{Name: "SendMsg after CloseSend", Run: func(p *probe.P) {
		s := bidi(p, rig.Pair{Handlers: rig.Handlers{Stream: func(s grpc.ServerStream) error {
			<-s.Context().Done() // the RPC does not end by itself
			return nil
		}}}.Start(p))
		p.Printf("%s", rig.Err(s.CloseSend()))
		p.Printf("%s", rig.Err(s.SendMsg(rig.M("x"))))
		p.Printf("%s", rig.Err(s.CloseSend()))
		p.Printf("%s", rig.Err(s.RecvMsg(new(rig.Msg))))
	}},
	{Name: "second SendMsg of a server stream", Run: func(p *probe.P) {
		s, err := rig.Pair{}.Start(p).NewStream(p.Context(), rig.ServerStreamDesc, rig.ServerStream)
		p.Printf("%s", rig.Err(err))
		p.Printf("%s", rig.Err(s.SendMsg(rig.M("x"))))
		p.Printf("%s", rig.Err(s.SendMsg(rig.M("y"))))
		p.Printf("%v", s.Context().Err())
	}},
	{Name: "after EOF", Run: func(p *probe.P) {
		s := bidi(p, rig.Pair{}.Start(p))
		_ = s.CloseSend()
		for range 3 {
			p.Printf("%s", rig.Err(s.RecvMsg(new(rig.Msg))))
		}
		p.Printf("%s", rig.Err(s.SendMsg(rig.M("x"))))
		p.Printf("%s", rig.Err(s.CloseSend()))
		p.Printf("%v", s.Context().Err())
		md, err := s.Header()
		p.Printf("%s %s", rig.MD(md), rig.Err(err))
	}},
	{Name: "SendMsg after an error", Run: func(p *probe.P) {
		s := bidi(p, rig.Pair{Handlers: rig.Handlers{Stream: func(grpc.ServerStream) error { return status.Error(codes.Aborted, "a") }}}.Start(p))
		err := s.RecvMsg(new(rig.Msg))
		p.Printf("%s", rig.Err(err))
		p.Printf("%s", rig.Err(s.SendMsg(rig.M("x"))))
		p.Printf("%s", rig.Err(s.RecvMsg(new(rig.Msg))))
		p.Printf("%s", rig.Err(s.CloseSend()))
	}},
	{Name: "SendMsg until EOF", Run: func(p *probe.P) {
		s := bidi(p, rig.Pair{Handlers: rig.Handlers{Stream: func(grpc.ServerStream) error { return status.Error(codes.Aborted, "a") }}}.Start(p))
		var err error
		for err == nil {
			err = s.SendMsg(rig.M("x"))
		}
		p.Printf("%s", rig.Err(err))
		p.Printf("%s", rig.Err(s.RecvMsg(new(rig.Msg))))
	}},
	{Name: "Trailer before the end", Run: func(p *probe.P) {
		s := bidi(p, rig.Pair{}.Start(p))
		rig.Try(p, "Trailer", func() error { p.Printf("%s", rig.MD(s.Trailer())); return nil })
		_ = s.CloseSend()
		p.Printf("%s", rig.Err(s.RecvMsg(new(rig.Msg))))
		p.Printf("%s", rig.MD(s.Trailer()))
	}},
	{Name: "messages that cannot be encoded", Run: func(p *probe.P) {
		for _, m := range []any{"x", nil, 5, (*rig.Msg)(nil), rig.M("\xff")} {
			s := bidi(p, rig.Pair{}.Start(p))
			p.Printf("%T: %s", m, rig.Err(s.SendMsg(m)))
			p.Printf("then %s", rig.Err(s.RecvMsg(new(rig.Msg))))
		}
	}},
	{Name: "messages that cannot be decoded", Run: func(p *probe.P) {
		for _, m := range []any{"x", nil, 5} {
			s := bidi(p, rig.Pair{}.Start(p))
			_ = s.SendMsg(rig.M("x"))
			rig.Try(p, fmt.Sprintf("%T", m), func() error { return s.RecvMsg(m) })
		}
	}},
	{Name: "unary with nil", Run: func(p *probe.P) {
		s := rig.Pair{}.Start(p)
		rig.Try(p, "request", func() error { return s.Invoke(p.Context(), rig.Unary, nil, new(rig.Msg)) })
		rig.Try(p, "reply", func() error { return s.Invoke(p.Context(), rig.Unary, rig.M("x"), nil) })
		rig.Try(p, "context", func() error { return s.Invoke(nil, rig.Unary, rig.M("x"), new(rig.Msg)) }) //nolint:staticcheck // SA1012: what it does is the question
	}},
	{Name: "methods of odd names", Run: func(p *probe.P) {
		s := rig.Pair{TCP: true}.Start(p)
		for _, m := range []string{"", "/", "probe.Probe/Unary", "/probe.Probe", "//", "/a/b/c", "/probe.Probe/Unary/", "/é/x", "/a b/c", "/a/\n"} {
			p.Printf("%q: %s", m, rig.Err(s.Invoke(p.Context(), m, rig.M("x"), new(rig.Msg))))
		}
	}},
	{Name: "PreparedMsg", Run: func(p *probe.P) {
		s := bidi(p, rig.Pair{}.Start(p))
		var m grpc.PreparedMsg
		p.Printf("%s", rig.Err(s.SendMsg(&m)))
		s = bidi(p, rig.Pair{}.Start(p))
		p.Printf("%s", rig.Err(m.Encode(s, rig.M("prepared"))))
		for range 2 {
			p.Printf("%s", rig.Err(s.SendMsg(&m)))
			out := new(rig.Msg)
			p.Printf("%s %q", rig.Err(s.RecvMsg(out)), out.GetValue())
		}
		p.Printf("%s", rig.Err(m.Encode(s, "x")))
	}},
	{Name: "interceptors of clients in order", Run: func(p *probe.P) {
		named := func(name string) grpc.UnaryClientInterceptor {
			return func(ctx context.Context, m string, req, rep any, cc *grpc.ClientConn, inv grpc.UnaryInvoker, o ...grpc.CallOption) error {
				p.Printf("%s begins with %d options", name, len(o))
				err := inv(ctx, m, req, rep, cc, append(o, grpc.EmptyCallOption{})...)
				p.Printf("%s ends", name)
				return err
			}
		}
		s := rig.Pair{Dial: []grpc.DialOption{
			grpc.WithChainUnaryInterceptor(named("a"), named("b")), grpc.WithUnaryInterceptor(named("c")), grpc.WithUnaryInterceptor(named("d")),
			grpc.WithChainUnaryInterceptor(named("e")), grpc.WithDefaultCallOptions(grpc.WaitForReady(true)),
		}}.Start(p)
		p.Printf("%s", call(p.Context(), s))
	}},
	{Name: "OnFinish of streams", Run: func(p *probe.P) {
		for _, end := range []string{"EOF", "cancel", "error"} {
			var mu sync.Mutex
			var calls []string
			s := rig.Pair{Handlers: rig.Handlers{Stream: func(s grpc.ServerStream) error {
				if end == "error" {
					return status.Error(codes.Aborted, "a")
				}
				for s.RecvMsg(new(rig.Msg)) == nil {
				}
				return nil
			}}}.Start(p)
			ctx, cancel := context.WithCancel(p.Context())
			stream, err := s.NewStream(ctx, rig.BidiDesc, rig.Bidi, grpc.OnFinish(func(err error) {
				mu.Lock()
				defer mu.Unlock()
				calls = append(calls, rig.Err(err))
			}))
			if err != nil {
				panic(err)
			}
			switch end {
			case "EOF":
				_ = stream.CloseSend()
			case "cancel":
				cancel()
			}
			p.Printf("%s: %s", end, rig.Err(stream.RecvMsg(new(rig.Msg))))
			cancel()
			probe.Settle(0) // who cancels may be told by another goroutine
			mu.Lock()
			p.Printf("%q", calls)
			mu.Unlock()
		}
	}},
	{Name: "retries", Run: func(p *probe.P) {
		for _, c := range []struct {
			name string
			fail int
			code codes.Code
			opts []grpc.DialOption
		}{
			{"succeeds", 2, codes.Unavailable, nil},
			{"exhausts", 9, codes.Unavailable, nil},
			{"another code", 9, codes.NotFound, nil},
			{"disabled", 9, codes.Unavailable, []grpc.DialOption{grpc.WithDisableRetry()}},
			{"limited", 9, codes.Unavailable, []grpc.DialOption{grpc.WithMaxCallAttempts(2)}},
			{"limited to 1", 9, codes.Unavailable, []grpc.DialOption{grpc.WithMaxCallAttempts(1)}},
		} {
			var mu sync.Mutex
			attempts := 0
			var seen []string
			s := rig.Pair{Dial: append(c.opts, grpc.WithDefaultServiceConfig(retryPolicy(goodRetry))), Handlers: rig.Handlers{
				Unary: func(ctx context.Context, m *rig.Msg) (*rig.Msg, error) {
					mu.Lock()
					defer mu.Unlock()
					seen = append(seen, metadata.ValueFromIncomingContext(ctx, "grpc-previous-rpc-attempts")...)
					if attempts++; attempts <= c.fail {
						return nil, status.Errorf(c.code, "attempt %d", attempts)
					}
					return m, nil
				},
			}}.Start(p)
			p.Printf("%s: %s after %d %q", c.name, call(p.Context(), s), attempts, seen)
		}
	}},
	{Name: "retry/credentials fail with a status that wraps EOF", Run: retryWithoutToken},
	{Name: "retry pushback", Run: func(p *probe.P) {
		for _, pushback := range []string{"0", "10", "-1", "x", ""} {
			var mu sync.Mutex
			attempts := 0
			s := rig.Pair{Dial: []grpc.DialOption{grpc.WithDefaultServiceConfig(retryPolicy(goodRetry))}, Handlers: rig.Handlers{
				Unary: func(ctx context.Context, _ *rig.Msg) (*rig.Msg, error) {
					mu.Lock()
					defer mu.Unlock()
					attempts++
					_ = grpc.SetTrailer(ctx, metadata.Pairs("grpc-retry-pushback-ms", pushback))
					return nil, status.Error(codes.Unavailable, "u")
				},
			}}.Start(p)
			p.Printf("%q: %s after %d", pushback, call(p.Context(), s), attempts)
		}
	}},
	{Name: "retry after headers", Run: func(p *probe.P) {
		var mu sync.Mutex
		attempts := 0
		s := rig.Pair{Dial: []grpc.DialOption{grpc.WithDefaultServiceConfig(retryPolicy(goodRetry))}, Handlers: rig.Handlers{
			Unary: func(ctx context.Context, _ *rig.Msg) (*rig.Msg, error) {
				mu.Lock()
				defer mu.Unlock()
				attempts++
				_ = grpc.SendHeader(ctx, nil)
				return nil, status.Error(codes.Unavailable, "u")
			},
		}}.Start(p)
		p.Printf("%s after %d", call(p.Context(), s), attempts)
	}},
	{Name: "retry of a message over the buffer", Run: func(p *probe.P) {
		var mu sync.Mutex
		attempts := 0
		s := rig.Pair{Dial: []grpc.DialOption{grpc.WithDefaultServiceConfig(retryPolicy(goodRetry))}, Handlers: rig.Handlers{
			Unary: func(context.Context, *rig.Msg) (*rig.Msg, error) {
				mu.Lock()
				defer mu.Unlock()
				attempts++
				return nil, status.Error(codes.Unavailable, "u")
			},
		}}.Start(p)
		p.Printf("%s after %d", call(p.Context(), s, grpc.MaxRetryRPCBufferSize(1)), attempts)
	}},
	{Name: "transparent retry", Run: func(p *probe.P) {
		for _, first := range []string{"REFUSED_STREAM", "headers and REFUSED_STREAM", "GOAWAY"} {
			var mu sync.Mutex
			n := 0
			addr := rig.RawServer(p, func(r *rig.Raw) {
				for {
					req, err := r.AcceptAll()
					if err != nil {
						return
					}
					mu.Lock()
					n++
					attempt := n
					mu.Unlock()
					switch {
					case attempt > 1:
						full(ok(), reply, "grpc-status", "0")(r, req)
					case first == "GOAWAY":
						_ = r.WriteGoAway(0, http2.ErrCodeNo, nil)
					case first == "REFUSED_STREAM":
						_ = r.WriteRSTStream(req.ID, http2.ErrCodeRefusedStream)
					default:
						r.Headers(req.ID, false, ok()...)
						_ = r.WriteData(req.ID, false, reply)
						_ = r.WriteRSTStream(req.ID, http2.ErrCodeRefusedStream)
					}
				}
			})
			p.Printf("%s: %s", first, call(p.Context(), channelTo(p, addr)))
			mu.Lock()
			p.Printf("%d attempts", n)
			mu.Unlock()
		}
	}},
	{Name: "transparent retry that meets the end", Run: func(p *probe.P) {
		// The second attempt ends while its messages are sent again: they do not fit its window.
		addr := rig.RawServer(p, func(r *rig.Raw) {
			req, err := r.Accept()
			if err != nil {
				return
			}
			_ = r.WriteWindowUpdate(req.ID, 1<<20)
			_ = r.WriteWindowUpdate(0, 1<<20)
			for ended := false; !ended; {
				f, err := r.Next()
				if err != nil {
					return
				}
				data, ok := f.(*http2.DataFrame)
				ended = ok && data.StreamEnded()
			}
			_ = r.WriteRSTStream(req.ID, http2.ErrCodeRefusedStream)
			if req, err = r.Accept(); err != nil {
				return
			}
			for sent := 0; sent < 1<<16-1; {
				f, err := r.Next()
				if err != nil {
					return
				}
				if data, ok := f.(*http2.DataFrame); ok {
					sent += len(data.Data())
				}
			}
			r.Headers(req.ID, true, append(ok(), "grpc-status", "5", "grpc-message", "no such thing")...)
			_, _ = r.Next()
		})
		s, err := channelTo(p, addr).NewStream(p.Context(), rig.BidiDesc, rig.Bidi)
		if err != nil {
			p.Printf("%s", rig.Err(err))
			return
		}
		for range 5 {
			p.Printf("send: %v", s.SendMsg(rig.M(strings.Repeat("x", 45<<10))))
		}
		p.Printf("close: %v", s.CloseSend())
		p.Printf("receive: %s", rig.Err(s.RecvMsg(new(rig.Msg))))
	}},
	{Name: "wait for ready by config", Run: func(p *probe.P) {
		s := rig.Pair{Dial: []grpc.DialOption{grpc.WithDefaultServiceConfig(methodConfig(`"waitForReady":true,"timeout":"5s"`))}}.Start(p)
		p.Printf("%s", call(p.Context(), s))
		cc := channelTo(p, "127.0.0.1:1", grpc.WithDefaultServiceConfig(methodConfig(`"waitForReady":true,"timeout":"1s"`)))
		p.Printf("%v", status.Code(cc.Invoke(p.Context(), rig.Unary, rig.M(""), new(rig.Msg))))
		p.Printf("%v", status.Code(cc.Invoke(p.Context(), rig.Unary, rig.M(""), new(rig.Msg), grpc.WaitForReady(false))))
	}},
	{Name: "limits by config", Run: func(p *probe.P) {
		cfg := grpc.WithDefaultServiceConfig(methodConfig(`"maxRequestMessageBytes":5,"maxResponseMessageBytes":4`))
		s := rig.Pair{Dial: []grpc.DialOption{cfg}}.Start(p)
		for _, text := range []string{"", "1", "12", "123", "1234"} {
			got, err := s.Call(p.Context(), text)
			p.Printf("%q %s", got, rig.Err(err))
		}
		got, err := s.Call(p.Context(), "1234", grpc.MaxCallSendMsgSize(100), grpc.MaxCallRecvMsgSize(100))
		p.Printf("%q %s", got, rig.Err(err))
	}},
	{Name: "lost connection", Run: func(p *probe.P) {
		addr := rig.RawServer(p, func(r *rig.Raw) {
			req, err := r.Accept()
			if err == nil {
				r.Headers(req.ID, false, ok()...)
				_, _ = r.Next()
			}
			_ = r.Close()
		})
		cc := channelTo(p, addr)
		s, err := cc.NewStream(p.Context(), rig.BidiDesc, rig.Bidi)
		p.Printf("%s", rig.Err(err))
		_ = s.SendMsg(rig.M("x"))
		p.Printf("%v", status.Code(s.RecvMsg(new(rig.Msg))))
		p.Printf("%s", rig.Err(s.SendMsg(rig.M("x"))))
		p.Printf("%s", rig.MD(s.Trailer()))
	}},
	{Name: "per-RPC credentials' errors", Run: func(p *probe.P) {
		for _, err := range []error{
			errors.New("plain"), status.Error(codes.NotFound, "nf"), status.Error(codes.PermissionDenied, "pd"), context.DeadlineExceeded,
			fmt.Errorf("w: %w", status.Error(codes.DataLoss, "dl")), io.EOF,
		} {
			s := rig.Pair{}.Start(p)
			p.Printf("call: %s", call(p.Context(), s, grpc.PerRPCCredentials(token{err: err})))
			s = rig.Pair{Dial: []grpc.DialOption{grpc.WithPerRPCCredentials(token{err: err})}}.Start(p)
			p.Printf("dial: %s", call(p.Context(), s))
		}
	}},
	{Name: "CloseSend at the end", Limit: 24 * time.Second, Run: func(p *probe.P) {
		for _, end := range []string{"cancel", "cancel seen", "deadline", "server OK", "server OK seen", "server error", "server error seen", "channel closed"} {
			for _, again := range []bool{false, true} {
				closeSendAtEnd(p, end, again)
			}
		}
	}},
	{Name: "generic clients", Run: func(p *probe.P) {
		raw := bidi(p, rig.Pair{}.Start(p))
		s := &grpc.GenericClientStream[rig.Msg, rig.Msg]{ClientStream: raw}
		p.Printf("%s", rig.Err(s.Send(rig.M("x"))))
		m, err := s.Recv()
		p.Printf("%q %s", m.GetValue(), rig.Err(err))
		m, err = s.CloseAndRecv()
		p.Printf("%v %s", m == nil, rig.Err(err))
	}},
}

func bidi(p *probe.P, s *rig.Started) grpc.ClientStream {
	stream, err := s.NewStream(p.Context(), rig.BidiDesc, rig.Bidi)
	if err != nil {
		panic(err)
	}
	return stream
}

// closeSendAtEnd prints what CloseSend returns on a stream that is over.
func closeSendAtEnd(p *probe.P, end string, before bool) {
	s := rig.Pair{Handlers: rig.Handlers{Stream: func(s grpc.ServerStream) error {
		switch end {
		case "server OK", "server OK seen":
			return nil
		case "server error", "server error seen":
			return status.Error(codes.Aborted, "a")
		}
		<-s.Context().Done()
		return nil
	}}}.Start(p)
	ctx, cancel := context.WithCancel(p.Context())
	defer cancel()
	if end == "deadline" {
		ctx, cancel = probe.WithTimeout(ctx, 50*time.Millisecond)
		defer cancel()
	}
	stream, err := s.NewStream(ctx, rig.BidiDesc, rig.Bidi)
	if err != nil {
		p.Printf("%s: %s", end, rig.Err(err))
		return
	}
	if before {
		p.Printf("%s, before: %s", end, rig.Err(stream.CloseSend()))
	}
	seen := strings.HasSuffix(end, " seen")
	switch end {
	case "cancel", "cancel seen":
		cancel()
	case "deadline":
		<-ctx.Done()
	case "channel closed":
		_ = s.ClientConn.Close()
	}
	if seen {
		p.Printf("%s: RecvMsg: %s", end, rig.Err(stream.RecvMsg(new(rig.Msg))))
	} else {
		probe.Settle(moment)
	}
	for range 2 {
		p.Printf("%s: %s", end, rig.Err(stream.CloseSend()))
	}
	p.Printf("%s: RecvMsg: %v", end, status.Code(stream.RecvMsg(new(rig.Msg))))
}

// retryWithoutToken retries a stream for which there is no other token: the error has a status, and wraps io.EOF.
func retryWithoutToken(p *probe.P) {
	rec := newRecorder()
	s := rig.Pair{Dial: []grpc.DialOption{grpc.WithStatsHandler(rec), grpc.WithDefaultServiceConfig(retryPolicy(goodRetry))}, Handlers: rig.Handlers{
		Stream: func(s grpc.ServerStream) error {
			_ = s.RecvMsg(new(rig.Msg))
			return status.Error(codes.Unavailable, "u")
		},
	}}.Start(p)
	finished := make(chan error, 1)
	stream, err := s.NewStream(p.Context(), rig.BidiDesc, rig.Bidi, grpc.PerRPCCredentials(&tokenOnce{}), grpc.OnFinish(func(err error) { finished <- err }))
	if err != nil {
		p.Printf("NewStream: %s", rig.Err(err))
		return
	}
	_ = stream.CloseSend()
	err = stream.RecvMsg(new(rig.Msg))
	p.Printf("RecvMsg: %v %v", status.Code(err), err == io.EOF)
	p.Printf("OnFinish: %v", status.Code(<-finished))
	rec.print(p, "stats")
}

// tokenOnce has no token but the first.
type tokenOnce struct {
	token
	asked bool
}

func (o *tokenOnce) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	if o.asked {
		return nil, errors.Join(status.Error(codes.PermissionDenied, "no token"), io.EOF)
	}
	o.asked = true
	return nil, nil
}
