// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http2"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/status"
)

// okError has a status that is OK, or none.
type okError struct{ s *status.Status }

func (okError) Error() string                { return "no status" }
func (e okError) GRPCStatus() *status.Status { return e.s }

// countedToken is a credential that fails, or counts how often it is asked.
type countedToken struct {
	asked *atomic.Int32
	err   error
}

func (c countedToken) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	c.asked.Add(1)
	return map[string]string{"token": "t"}, c.err
}
func (countedToken) RequireTransportSecurity() bool { return false }

// strictReader panics when it is read after its end.
type strictReader struct {
	io.Reader
	ended bool
}

func (r *strictReader) Read(b []byte) (int, error) {
	if r.ended {
		panic("read after the end")
	}
	n, err := r.Reader.Read(b)
	r.ended = err == io.EOF
	return n, err
}

type strictCompressor struct{}

func (strictCompressor) Name() string                                 { return "probe_strict" }
func (strictCompressor) Compress(w io.Writer) (io.WriteCloser, error) { return nopCloser{w}, nil }
func (strictCompressor) Decompress(r io.Reader) (io.Reader, error) {
	return &strictReader{Reader: r}, nil
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

func init() { encoding.RegisterCompressor(strictCompressor{}) }

// finishes prints whether f returns.
func finishes(p *probe.P, what string, f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
		p.Printf("%s: ends", what)
	case <-probe.Quiet(3 * time.Second):
		p.Printf("%s: hangs", what)
	}
}

// reportProbes run what users of the published module have reported, by the report's number.
var reportProbes = []probe.Probe{
	{Name: "9393 Stop after GracefulStop, a handler runs", Run: func(p *probe.P) {
		began, over := make(chan struct{}), make(chan struct{})
		s := rig.Pair{TCP: true, Server: []grpc.ServerOption{grpc.WaitForHandlers(true)}, Handlers: rig.Handlers{Unary: func(context.Context, *rig.Msg) (*rig.Msg, error) {
			close(began)
			<-over
			return rig.M(""), nil
		}}}.Start(p)
		go func() { _ = call(p.Context(), s) }()
		<-began
		graceful := make(chan struct{})
		go func() {
			defer close(graceful)
			s.Server.GracefulStop()
		}()
		_ = s.ClientConn.Close()
		go func() {
			probe.Settle(300 * time.Millisecond)
			close(over)
		}()
		finishes(p, "Stop", s.Server.Stop)
		finishes(p, "GracefulStop", func() { <-graceful })
	}},
	{Name: "793 GracefulStop twice", Run: func(p *probe.P) {
		s := rig.Pair{TCP: true}.Start(p)
		p.Printf("%s", call(p.Context(), s))
		finishes(p, "first", s.Server.GracefulStop)
		finishes(p, "second", s.Server.GracefulStop)
	}},
	{Name: "2367 Close while a resolver updates", Run: func(p *probe.P) {
		addr := server(p)
		for range 50 {
			cc, r := manualChannel(p)
			r.InitialState(addresses(addr))
			cc.Connect()
			var wg sync.WaitGroup
			wg.Go(func() {
				for range 5 {
					r.UpdateState(resolver.State{Addresses: addresses(addr).Addresses, ServiceConfig: r.CC().ParseServiceConfig(`{"loadBalancingConfig":[{"round_robin":{}}]}`)})
				}
			})
			_ = cc.Close()
			wg.Wait()
		}
		p.Printf("fine")
	}},
	{Name: "8171 a message as large as the limit, compressed", Run: func(p *probe.P) {
		s := rig.Pair{Server: []grpc.ServerOption{grpc.MaxRecvMsgSize(3)}}.Start(p)
		p.Printf("%s", call(p.Context(), s, grpc.UseCompressor("probe_strict"), grpc.MaxCallRecvMsgSize(3)))
	}},
	{Name: "4552 gzip and a limit of MaxInt", Run: func(p *probe.P) {
		s := rig.Pair{Server: []grpc.ServerOption{grpc.MaxRecvMsgSize(math.MaxInt)}}.Start(p)
		p.Printf("%s", call(p.Context(), s, grpc.UseCompressor(gzip.Name), grpc.MaxCallRecvMsgSize(math.MaxInt)))
	}},
	{Name: "7510 an error after the only reply", Run: func(p *probe.P) {
		s := rig.Pair{Handlers: rig.Handlers{Stream: func(s grpc.ServerStream) error {
			_ = s.SendMsg(rig.M("a"))
			return status.Error(codes.DataLoss, "after the reply")
		}}}.Start(p)
		st, err := s.NewStream(p.Context(), rig.ClientStreamDesc, rig.ClientStream)
		p.Printf("%s %s", rig.Err(err), rig.Err(st.CloseSend()))
		p.Printf("%s", rig.Err(st.RecvMsg(new(rig.Msg))))
	}},
	{Name: "1735 CloseSend is EOF", Run: func(p *probe.P) {
		ends := make(chan error, 1)
		s := rig.Pair{TCP: true, Handlers: rig.Handlers{Stream: func(s grpc.ServerStream) error {
			_ = s.RecvMsg(new(rig.Msg))
			_ = s.SendMsg(rig.M("second"))
			ends <- s.RecvMsg(new(rig.Msg))
			return nil
		}}}.Start(p)
		bad := 0
		for range 100 {
			st := bidi(p, s)
			_ = st.SendMsg(rig.M("first"))
			_ = st.RecvMsg(new(rig.Msg))
			_ = st.CloseSend()
			if err := <-ends; err != io.EOF {
				bad++
			}
		}
		p.Printf("%d of 100 are another error", bad)
	}},
	{Name: "3575 SendMsg of a stream that the client has reset", Run: func(p *probe.P) {
		began, ended := make(chan struct{}), make(chan error, 1)
		s := rig.Pair{TCP: true, Handlers: rig.Handlers{Stream: func(s grpc.ServerStream) error {
			close(began)
			<-s.Context().Done()
			ended <- s.SendMsg(rig.M("late"))
			return nil
		}}}.Start(p)
		ctx, cancel := context.WithCancel(p.Context())
		_, err := s.NewStream(ctx, rig.BidiDesc, rig.Bidi)
		p.Printf("%s", rig.Err(err))
		<-began
		cancel()
		p.Printf("%v", status.Code(<-ended))
	}},
	{Name: "1319 a handler that fails at once", Run: func(p *probe.P) {
		s := rig.Pair{Handlers: rig.Handlers{Stream: func(grpc.ServerStream) error { return status.Error(codes.FailedPrecondition, "at once") }}}.Start(p)
		st := bidi(p, s)
		p.Printf("%s", rig.Err(st.RecvMsg(new(rig.Msg))))
		p.Printf("%s", rig.Err(st.SendMsg(rig.M("q"))))
	}},
	{Name: "1815 events of a reply of trailers alone", Run: func(p *probe.P) {
		j := &journal{}
		s := rig.Pair{Handlers: rig.Handlers{Unary: func(context.Context, *rig.Msg) (*rig.Msg, error) { return nil, status.Error(codes.Aborted, "x") }}, Dial: []grpc.DialOption{grpc.WithStatsHandler(orderStats{j})}}.Start(p)
		p.Printf("%s", call(p.Context(), s))
		j.print(p)
	}},
	{Name: "5260 pick_first and an empty list", Run: func(p *probe.P) {
		cc, r := manualChannel(p)
		r.InitialState(addresses(server(p)))
		p.Printf("%s", call(p.Context(), cc))
		r.UpdateState(resolver.State{})
		for s := cc.GetState(); s != connectivity.TransientFailure && cc.WaitForStateChange(p.Context(), s); s = cc.GetState() {
		}
		p.Printf("%v %s", cc.GetState(), call(p.Context(), cc))
	}},
	{Name: "6373 errors whose status is OK, or none", Run: func(p *probe.P) {
		for _, err := range []error{
			okError{},
			okError{status.New(codes.OK, "fine")},
			fmt.Errorf("wraps: %w", okError{}), fmt.Errorf("wraps: %w", okError{status.New(codes.OK, "fine")}),
			fmt.Errorf("wraps: %w", status.Error(codes.NotFound, "x")), errors.Join(errors.New("a"), status.Error(codes.NotFound, "x")),
		} {
			s := rig.Pair{Handlers: rig.Handlers{Unary: func(context.Context, *rig.Msg) (*rig.Msg, error) { return nil, err }}}.Start(p)
			p.Printf("%s", call(p.Context(), s))
			st, ok := status.FromError(err)
			p.Printf("%v %q %v %v", st.Code(), st.Message(), ok, status.Code(err))
		}
	}},
	{Name: "3606 a credential that fails is asked once", Run: func(p *probe.P) {
		asked := &atomic.Int32{}
		s := rig.Pair{Dial: []grpc.DialOption{grpc.WithPerRPCCredentials(countedToken{asked, errors.New("no token")})}}.Start(p)
		p.Printf("%s", call(p.Context(), s))
		p.Printf("%s", call(p.Context(), s, grpc.WaitForReady(true)))
		p.Printf("asked %d times", asked.Load())
	}},
	{Name: "4785 a credential, and a stream that was refused", Run: func(p *probe.P) {
		var refused atomic.Bool
		addr := rig.RawServer(p, func(r *rig.Raw) {
			for {
				req, err := r.AcceptAll()
				if err != nil {
					return
				}
				if refused.CompareAndSwap(false, true) {
					_ = r.WriteRSTStream(req.ID, http2.ErrCodeRefusedStream)
					continue
				}
				r.Headers(req.ID, false, ":status", "200", "content-type", "application/grpc")
				_ = r.WriteData(req.ID, false, rig.Message(req.Get("token")))
				r.Headers(req.ID, true, "grpc-status", "0")
			}
		})
		asked := &atomic.Int32{}
		p.Printf("%s", call(p.Context(), channelTo(p, addr, grpc.WithPerRPCCredentials(countedToken{asked, nil}))))
		p.Printf("asked %d times", asked.Load())
	}},
	{Name: "5341 servers that close each connection", Run: func(p *probe.P) {
		addr := rig.RawServer(p, func(r *rig.Raw) { _, _ = r.Accept() })
		cc := channelTo(p, addr, quick)
		bad := 0
		for range 30 {
			if !strings.Contains(call(p.Context(), cc), "Unavailable") {
				bad++
			}
		}
		p.Printf("%d of 30 are not UNAVAILABLE", bad)
	}},
	{Name: "2206 ServeHTTP and a reply of trailers alone", Run: func(p *probe.P) {
		gs := grpc.NewServer()
		gs.RegisterService(rig.Handlers{}.Desc(), nil)
		p.Cleanup(gs.Stop)
		protocols := new(http.Protocols)
		protocols.SetUnencryptedHTTP2(true)
		r := rig.RawClient(p, carry(p, &http.Server{Handler: gs, Protocols: protocols}, nil))
		r.Headers(1, true, rig.RequestFields(":path", "/none.Such/Method")...)
		f, err := r.Next()
		if err != nil {
			p.Printf("%v", err)
			return
		}
		m, _ := f.(*http2.MetaHeadersFrame)
		p.Printf("%v ends=%v", f.Header().Type, m != nil && m.StreamEnded())
	}},
	{Name: "632 streams that are canceled give their window back", Run: func(p *probe.P) {
		s := rig.Pair{TCP: true, Handlers: rig.Handlers{Stream: func(s grpc.ServerStream) error {
			for range 100 {
				if err := s.SendMsg(rig.M(strings.Repeat("x", 1000))); err != nil {
					return err
				}
			}
			return nil
		}}}.Start(p)
		bad := 0
		for range 300 {
			ctx, cancel := context.WithCancel(p.Context())
			st, err := s.NewStream(ctx, rig.ServerStreamDesc, rig.ServerStream)
			if err != nil || st.SendMsg(rig.M("q")) != nil || st.CloseSend() != nil || st.RecvMsg(new(rig.Msg)) != nil || st.RecvMsg(new(rig.Msg)) != nil {
				bad++
			}
			cancel()
		}
		p.Printf("%d of 300 failed", bad)
	}},
	{Name: "4172 many callers at once", Run: func(p *probe.P) {
		s := rig.Pair{TCP: true}.Start(p)
		var bad atomic.Int32
		var wg sync.WaitGroup
		for range 1000 {
			wg.Go(func() {
				if !strings.HasSuffix(call(p.Context(), s), " nil") {
					bad.Add(1)
				}
			})
		}
		wg.Wait()
		p.Printf("%d of 1000 failed", bad.Load())
	}},
	{Name: "399 a message of 20 MB", Run: func(p *probe.P) {
		s := rig.Pair{Server: []grpc.ServerOption{grpc.MaxRecvMsgSize(32 << 20)}}.Start(p)
		out := new(rig.Msg)
		err := s.Invoke(p.Context(), rig.Unary, rig.M(strings.Repeat("x", 20<<20)), out, grpc.MaxCallRecvMsgSize(32<<20))
		p.Printf("%d %s", len(out.GetValue()), rig.Err(err))
	}},
	{Name: "6783 calls after idleness", Run: func(p *probe.P) {
		s := rig.Pair{TCP: true, Dial: []grpc.DialOption{grpc.WithIdleTimeout(50 * time.Millisecond)}}.Start(p)
		for range 5 {
			p.Printf("%s", call(p.Context(), s))
			for st := s.GetState(); st != connectivity.Idle && s.WaitForStateChange(p.Context(), st); st = s.GetState() {
			}
		}
	}},
	{Name: "1882 keepalive while replies come", Run: func(p *probe.P) {
		s := rig.Pair{
			TCP: true, Server: []grpc.ServerOption{grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: time.Hour})},
			Handlers: rig.Handlers{Stream: func(s grpc.ServerStream) error {
				for range 500 {
					if err := s.SendMsg(rig.M("x")); err != nil {
						return err
					}
				}
				return nil
			}},
		}.Start(p)
		bad := 0
		for range 20 {
			st, err := s.NewStream(p.Context(), rig.ServerStreamDesc, rig.ServerStream)
			if err != nil {
				bad++
				continue
			}
			_, _ = st.SendMsg(rig.M("q")), st.CloseSend()
			for err == nil {
				err = st.RecvMsg(new(rig.Msg))
			}
			if err != io.EOF {
				bad++
			}
		}
		p.Printf("%d of 20 streams were cut", bad)
	}},
	{Name: "2435 RecvMsg in a goroutine that outlives its handler", Run: func(p *probe.P) {
		ended := make(chan error, 1)
		s := rig.Pair{TCP: true, Handlers: rig.Handlers{Stream: func(s grpc.ServerStream) error {
			go func() { ended <- s.RecvMsg(new(rig.Msg)) }()
			return status.Error(codes.Aborted, "x")
		}}}.Start(p)
		st := bidi(p, s)
		p.Printf("%s", rig.Err(st.RecvMsg(new(rig.Msg))))
		p.Printf("RecvMsg fails: %v", <-ended != nil)
	}},
	{Name: "873 the code of a deadline in RecvMsg", Run: func(p *probe.P) {
		s := rig.Pair{Handlers: rig.Handlers{Stream: func(s grpc.ServerStream) error {
			<-s.Context().Done()
			return nil
		}}}.Start(p)
		ctx, cancel := probe.WithTimeout(p.Context(), 50*time.Millisecond) // the server does not know of it
		defer cancel()
		st, _ := s.NewStream(ctx, rig.BidiDesc, rig.Bidi)
		err := st.RecvMsg(new(rig.Msg))
		p.Printf("%v %v %v", status.Code(err), errors.Is(err, context.DeadlineExceeded), rig.Err(err))
	}},
	{Name: "3946 retries of a bidirectional stream", Run: func(p *probe.P) {
		var calls atomic.Int32
		s := rig.Pair{Handlers: rig.Handlers{Stream: func(s grpc.ServerStream) error {
			if calls.Add(1) < 3 {
				return status.Error(codes.Unavailable, "again")
			}
			m := new(rig.Msg)
			_ = s.RecvMsg(m)
			return s.SendMsg(m)
		}}, Dial: []grpc.DialOption{grpc.WithDefaultServiceConfig(`{"methodConfig":[{"name":[{}],"retryPolicy":{"maxAttempts":4,"initialBackoff":"0.001s","maxBackoff":"0.001s","backoffMultiplier":1,"retryableStatusCodes":["UNAVAILABLE"]}}]}`)}}.Start(p)
		st := bidi(p, s)
		m := new(rig.Msg)
		p.Printf("%s", rig.Err(st.SendMsg(rig.M("q"))))
		p.Printf("%s %q, %d calls", rig.Err(st.RecvMsg(m)), m.GetValue(), calls.Load())
	}},
	{Name: "6478 Close of a channel that nobody made", Run: func(p *probe.P) {
		rig.Try(p, "empty", func() error { return new(grpc.ClientConn).Close() })
	}},
	{Name: "422 Close of no channel", Run: func(p *probe.P) {
		rig.Try(p, "nil", func() error { return (*grpc.ClientConn)(nil).Close() })
	}},
	{Name: "2628 the authority of targets", Run: func(p *probe.P) {
		for _, target := range []string{"unix:/tmp/x", "unix:///tmp/x", "unix-abstract:x", "tcp://127.0.0.1:1", "passthrough:///tcp://h:1", "h:1", "dns:///h", "passthrough:///", "passthrough:///a b", "passthrough:///ä"} {
			cc, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()))
			if err != nil {
				p.Printf("%q %s", target, rig.Err(err))
				continue
			}
			p.Printf("%q %q %q", target, cc.Target(), cc.CanonicalTarget())
			_ = cc.Close()
		}
	}},
	{Name: "5315 retries while connections break", Run: func(p *probe.P) {
		addr := rig.RawServer(p, func(*rig.Raw) {})
		cc := channelTo(p, addr, quick, grpc.WithDefaultServiceConfig(`{"methodConfig":[{"name":[{}],"retryPolicy":{"maxAttempts":5,"initialBackoff":"0.001s","maxBackoff":"0.001s","backoffMultiplier":1,"retryableStatusCodes":["UNAVAILABLE"]}}]}`))
		var bad atomic.Int32
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				st, err := cc.NewStream(p.Context(), rig.BidiDesc, rig.Bidi)
				if err == nil {
					_ = st.SendMsg(rig.M("q"))
					err = st.RecvMsg(new(rig.Msg))
				}
				if status.Code(err) != codes.Unavailable {
					bad.Add(1)
				}
			})
		}
		wg.Wait()
		p.Printf("%d of 20 are not UNAVAILABLE", bad.Load())
	}},
	{Name: "8514 details of a status behind net/http", Run: func(p *probe.P) {
		st, _ := status.New(codes.Aborted, "x").WithDetails(rig.M("detail"))
		for _, c := range carriers[:1] {
			s := c.carry(p, rig.Handlers{Unary: func(context.Context, *rig.Msg) (*rig.Msg, error) { return nil, st.Err() }}, grpc.StatsHandler(orderStats{&journal{}}))
			p.Printf("%s", call(p.Context(), s))
		}
	}},
	{Name: "8424 a deadline while a resolver is slow", Run: func(p *probe.P) {
		cc, r := manualChannel(p)
		hold := make(chan struct{})
		r.BuildCallback = func(resolver.Target, resolver.ClientConn, resolver.BuildOptions) { <-hold }
		r.InitialState(addresses(server(p)))
		p.Printf("%s", briefly(p, cc))
		close(hold)
		p.Printf("%s", call(p.Context(), cc, grpc.WaitForReady(true)))
	}},
}
