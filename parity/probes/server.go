// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http2"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
	"google.golang.org/grpc/status"
)

// blocking is a service whose calls tell that they began and wait for their contexts.
func blocking(p *probe.P, opts ...grpc.ServerOption) (s *rig.Started, began chan struct{}, ended chan error) {
	began, ended = make(chan struct{}, 10), make(chan error, 10)
	s = rig.Pair{TCP: true, Server: opts, Handlers: rig.Handlers{
		Unary: func(ctx context.Context, _ *rig.Msg) (*rig.Msg, error) {
			began <- struct{}{}
			<-ctx.Done()
			ended <- ctx.Err()
			return nil, ctx.Err()
		},
		Stream: func(s grpc.ServerStream) error {
			began <- struct{}{}
			err := s.RecvMsg(new(rig.Msg))
			ended <- err
			return err
		},
	}}.Start(p)
	return s, began, ended
}

// brokenListener fails each Accept with its errors in turn.
type brokenListener struct {
	net.Listener
	errs chan error
}

func (l brokenListener) Accept() (net.Conn, error) {
	if err, more := <-l.errs; more {
		return nil, err
	}
	return l.Listener.Accept()
}

type temporary struct{}

func (temporary) Error() string   { return "temporary" }
func (temporary) Temporary() bool { return true }
func (temporary) Timeout() bool   { return false }

// sliceListener cannot be compared.
type sliceListener struct {
	net.Listener
	_       []int
	accepts chan struct{}
}

func (l *sliceListener) Accept() (net.Conn, error) {
	select {
	case l.accepts <- struct{}{}:
	default:
	}
	return l.Listener.Accept()
}

var serverProbes = []probe.Probe{
	{Name: "Serve after Stop", Run: func(p *probe.P) {
		s := grpc.NewServer()
		s.Stop()
		l := rig.Listen()
		p.Printf("%s", rig.Err(s.Serve(l)))
		_, err := l.Accept()
		p.Printf("closed: %v", errors.Is(err, net.ErrClosed))
	}},
	{Name: "Serve after GracefulStop", Run: func(p *probe.P) {
		s := grpc.NewServer()
		s.GracefulStop()
		s.GracefulStop()
		s.Stop()
		p.Printf("%s", rig.Err(s.Serve(rig.Listen())))
	}},
	{Name: "Serve returns after Stop", Run: func(p *probe.P) {
		s := rig.Pair{TCP: true}.Start(p)
		s.Ready(p)
		s.Server.Stop()
		p.Printf("%s", rig.Err(<-s.Served))
	}},
	{Name: "Serve returns after GracefulStop", Run: func(p *probe.P) {
		s := rig.Pair{TCP: true}.Start(p)
		s.Ready(p)
		s.Server.GracefulStop()
		p.Printf("%s", rig.Err(<-s.Served))
	}},
	{Name: "Serve with a broken listener", Run: func(p *probe.P) {
		l := brokenListener{rig.Listen(), make(chan error, 2)}
		l.errs <- temporary{}
		l.errs <- errors.New("permanent")
		p.Printf("%s", rig.Err(grpc.NewServer().Serve(l)))
	}},
	{Name: "Serve with a closed listener", Run: func(p *probe.P) {
		l := rig.Listen()
		_ = l.Close()
		err := grpc.NewServer().Serve(l)
		p.Printf("%v", errors.Is(err, net.ErrClosed))
	}},
	{Name: "Serve with a listener that cannot be compared", Run: func(p *probe.P) {
		s := grpc.NewServer()
		done, accepts := make(chan error, 1), make(chan struct{}, 1)
		l := rig.Listen()
		go func() {
			defer func() {
				if r := recover(); r != nil {
					done <- errors.New("panic")
				}
			}()
			done <- s.Serve(&sliceListener{Listener: l, accepts: accepts})
		}()
		select {
		case <-accepts:
		case <-probe.Quiet(0): // it has failed
		}
		s.Stop()
		p.Printf("%v", <-done)
	}},
	{Name: "Serve two listeners", Run: func(p *probe.P) {
		s := grpc.NewServer()
		s.RegisterService(rig.Handlers{}.Desc(), nil)
		served := make(chan error, 2)
		one, two := rig.Listen(), rig.Listen()
		go func() { served <- s.Serve(one) }()
		go func() { served <- s.Serve(two) }()
		p.Printf("%s", call(p.Context(), channelTo(p, one.Addr().String())))
		p.Printf("%s", call(p.Context(), channelTo(p, two.Addr().String())))
		s.Stop()
		p.Printf("%v %v", <-served, <-served)
	}},
	{Name: "RegisterService twice", Alone: true, Run: func(p *probe.P) {
		s := grpc.NewServer()
		s.RegisterService(rig.Handlers{}.Desc(), nil)
		s.RegisterService(rig.Handlers{}.Desc(), nil)
	}},
	{Name: "RegisterService after Serve", Alone: true, Run: func(p *probe.P) {
		s := rig.Pair{TCP: true}.Start(p)
		s.Ready(p)
		d := rig.Handlers{}.Desc()
		d.ServiceName = "other"
		s.Server.RegisterService(d, nil)
	}},
	{Name: "RegisterService of a wrong type", Alone: true, Run: func(p *probe.P) {
		d := rig.Handlers{}.Desc()
		d.HandlerType = (*io.Reader)(nil)
		grpc.NewServer().RegisterService(d, 5)
	}},
	{Name: "GetServiceInfo", Run: func(p *probe.P) {
		s := grpc.NewServer()
		p.Printf("%v", s.GetServiceInfo())
		s.RegisterService(rig.Handlers{}.Desc(), nil)
		for name, info := range s.GetServiceInfo() {
			slices.SortFunc(info.Methods, func(a, b grpc.MethodInfo) int {
				return len(a.Name)*10 + int(a.Name[0]) - len(b.Name)*10 - int(b.Name[0])
			})
			p.Printf("%s %+v %v", name, info.Methods, info.Metadata)
		}
	}},
	{Name: "Stop with calls", Run: func(p *probe.P) {
		s, began, ended := blocking(p)
		done := make(chan string, 1)
		go func() { done <- call(p.Context(), s) }()
		<-began
		s.Server.Stop()
		p.Printf("client %s", <-done)
		p.Printf("handler %s", rig.Err(<-ended))
	}},
	{Name: "Stop with streams", Run: func(p *probe.P) {
		s, began, ended := blocking(p)
		stream, err := s.NewStream(p.Context(), rig.BidiDesc, rig.Bidi)
		p.Printf("%s", rig.Err(err))
		<-began
		s.Server.Stop()
		p.Printf("client %s", rig.Err(stream.RecvMsg(new(rig.Msg))))
		p.Printf("handler %s", rig.Err(<-ended))
	}},
	{Name: "client goes with a stream", Run: func(p *probe.P) {
		s, began, ended := blocking(p)
		stream, err := s.NewStream(p.Context(), rig.BidiDesc, rig.Bidi)
		p.Printf("%s", rig.Err(err))
		<-began
		_ = s.Close()
		p.Printf("client %s", rig.Err(stream.RecvMsg(new(rig.Msg))))
		p.Printf("handler %s", rig.Err(<-ended))
	}},
	{Name: "client cancels a stream", Run: func(p *probe.P) {
		s, began, ended := blocking(p)
		ctx, cancel := context.WithCancel(p.Context())
		defer cancel()
		stream, err := s.NewStream(ctx, rig.BidiDesc, rig.Bidi)
		p.Printf("%s", rig.Err(err))
		<-began
		cancel()
		p.Printf("client %s", rig.Err(stream.RecvMsg(new(rig.Msg))))
		p.Printf("send %s", rig.Err(stream.SendMsg(rig.M("x"))))
		p.Printf("close %s", rig.Err(stream.CloseSend()))
		p.Printf("trailer %s", rig.MD(stream.Trailer()))
		p.Printf("handler %s", rig.Err(<-ended))
	}},
	{Name: "deadline of a call", Run: func(p *probe.P) {
		s, _, ended := blocking(p)
		s.Ready(p)
		ctx, cancel := context.WithTimeout(p.Context(), 4*time.Second)
		defer cancel()
		p.OneOf("client", call(ctx, s), // whose deadline passes first is chance
			`"" DeadlineExceeded: "context deadline exceeded"`, `"" DeadlineExceeded: "stream terminated by RST_STREAM with error code: CANCEL"`)
		err := <-ended
		p.Printf("handler %v", errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled))
	}},
	{Name: "deadline that is over", Run: func(p *probe.P) {
		ctx, cancel := context.WithTimeout(p.Context(), -time.Second)
		defer cancel()
		s := rig.Pair{}.Start(p)
		p.Printf("%s", call(ctx, s))
		_, err := s.NewStream(ctx, rig.BidiDesc, rig.Bidi)
		p.Printf("%s", rig.Err(err))
	}},
	{Name: "cancel with a cause", Run: func(p *probe.P) {
		s, began, _ := blocking(p)
		ctx, cancel := context.WithCancelCause(p.Context())
		go func() { <-began; cancel(errors.New("my cause")) }()
		p.Printf("%s", call(ctx, s))
	}},
	{Name: "GracefulStop lets calls end", Run: func(p *probe.P) {
		began, release := make(chan struct{}), make(chan struct{})
		s := rig.Pair{TCP: true, Handlers: rig.Handlers{Unary: func(ctx context.Context, m *rig.Msg) (*rig.Msg, error) {
			close(began)
			<-release
			return m, ctx.Err()
		}}}.Start(p)
		done, stopped := make(chan string, 1), make(chan struct{})
		go func() { done <- call(p.Context(), s) }()
		<-began
		go func() { s.Server.GracefulStop(); close(stopped) }()
		s.WaitForStateChange(p.Context(), connectivity.Ready)
		close(release)
		p.Printf("%s", <-done)
		<-stopped
		p.Printf("%s", rig.Err(<-s.Served))
	}},
	{Name: "GracefulStop then Stop", Run: func(p *probe.P) {
		s, began, ended := blocking(p)
		done, stopped := make(chan string, 1), make(chan struct{})
		go func() { done <- call(p.Context(), s) }()
		<-began
		go func() { s.Server.GracefulStop(); close(stopped) }()
		s.WaitForStateChange(p.Context(), connectivity.Ready)
		s.Server.Stop()
		// How the connection ended after the GOAWAY is a matter of timing.
		p.Printf("goaway told: %v", strings.Contains(<-done, "received prior goaway: code: NO_ERROR, debug data"))
		p.Printf("%s", rig.Err(<-ended))
		<-stopped
	}},
	{Name: "call after GracefulStop", Run: func(p *probe.P) {
		s := rig.Pair{TCP: true}.Start(p)
		s.Ready(p)
		s.Server.GracefulStop()
		p.Printf("%v", status.Code(s.Invoke(p.Context(), rig.Unary, rig.M(""), new(rig.Msg))))
	}},
	{Name: "frames of Stop", Run: func(p *probe.P) {
		s := rig.Pair{TCP: true}.Serve(p)
		r := rig.RawClient(p, s.Listener.Addr().String())
		ask(r, 1)
		r.Print(p, 1)
		s.Server.Stop()
		r.Print(p, 0)
	}},
	{Name: "frames of GracefulStop", Run: func(p *probe.P) {
		s := rig.Pair{TCP: true}.Serve(p)
		r := rig.RawClient(p, s.Listener.Addr().String())
		ask(r, 1)
		r.Print(p, 1)
		go s.Server.GracefulStop()
		r.Print(p, 0)
	}},
	{Name: "frames of MaxConnectionAge", Run: func(p *probe.P) {
		s := rig.Pair{TCP: true, Server: []grpc.ServerOption{grpc.KeepaliveParams(keepalive.ServerParameters{
			MaxConnectionAge: 50 * time.Millisecond, MaxConnectionAgeGrace: time.Hour,
		})}}.Serve(p)
		r := rig.RawClient(p, s.Listener.Addr().String())
		r.Print(p, 0)
	}},
	{Name: "frames of MaxConnectionIdle", Run: func(p *probe.P) {
		s := rig.Pair{TCP: true, Server: []grpc.ServerOption{grpc.KeepaliveParams(keepalive.ServerParameters{
			MaxConnectionIdle: 50 * time.Millisecond,
		})}}.Serve(p)
		r := rig.RawClient(p, s.Listener.Addr().String())
		r.Print(p, 0)
	}},
	{Name: "frames after too many pings", Run: func(p *probe.P) {
		s := rig.Pair{TCP: true}.Serve(p)
		r := rig.RawClient(p, s.Listener.Addr().String())
		for range 10 {
			_ = r.WritePing(false, [8]byte{1})
		}
		r.Print(p, 0)
	}},
	{Name: "client after too many pings", Run: func(p *probe.P) {
		addr := rig.RawServer(p, func(r *rig.Raw) {
			req, _ := r.AcceptAll()
			_ = r.WriteGoAway(req.ID, http2.ErrCodeEnhanceYourCalm, []byte("too_many_pings"))
			_ = r.Close()
		})
		p.Printf("%s", call(p.Context(), channelTo(p, addr)))
	}},
	{Name: "preface of others", Run: func(p *probe.P) {
		s := rig.Pair{TCP: true}.Serve(p)
		for _, text := range []string{"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "x", "PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n12345678"} {
			conn, err := net.Dial("tcp", s.Listener.Addr().String())
			if err != nil {
				panic(err)
			}
			_, _ = io.WriteString(conn, text)
			_ = conn.(*net.TCPConn).CloseWrite()
			_ = conn.SetReadDeadline(time.Now().Add(5 * time.Second))
			b, _ := io.ReadAll(conn)
			p.Printf("%d bytes", len(b))
			_ = conn.Close()
		}
	}},
	{Name: "settings of the server", Limit: 24 * time.Second, Run: func(p *probe.P) {
		for _, opts := range [][]grpc.ServerOption{
			nil,
			{grpc.MaxConcurrentStreams(5)},
			{grpc.MaxHeaderListSize(1000)},
			{grpc.InitialWindowSize(1 << 20)},
			{grpc.HeaderTableSize(100)},
			{grpc.MaxHeaderListSize(0)},
			{grpc.StaticStreamWindowSize(1 << 20)},
			{grpc.StaticConnWindowSize(1 << 20)},
			{grpc.MaxConcurrentStreams(0)},
		} {
			s := rig.Pair{TCP: true, Server: opts}.Serve(p)
			r := rig.RawClient(p, s.Listener.Addr().String())
			printStart(p, r)
			s.Server.Stop()
		}
	}},
	{Name: "settings of the client", Limit: 24 * time.Second, Run: func(p *probe.P) {
		for _, opts := range [][]grpc.DialOption{
			nil,
			{grpc.WithMaxHeaderListSize(1000)},
			{grpc.WithInitialWindowSize(1 << 20)},
			{grpc.WithInitialConnWindowSize(1 << 20)},
			{grpc.WithStaticStreamWindowSize(1 << 20)},
			{grpc.WithMaxHeaderListSize(0)},
		} {
			done := make(chan struct{})
			addr := rig.RawServer(p, func(r *rig.Raw) {
				printStart(p, r)
				close(done)
				_, _ = r.Accept()
			})
			cc := channelTo(p, addr, opts...)
			cc.Connect()
			<-done
			_ = cc.Close()
		}
	}},
}

func ask(r *rig.Raw, id uint32) {
	r.Headers(id, false, rig.RequestFields()...)
	_ = r.WriteData(id, true, rig.Message("x"))
}

// printStart prints the frames that begin a connection.
func printStart(p *probe.P, r *rig.Raw) {
	defer r.UntilQuiet(300 * time.Millisecond)()
	for {
		f, err := r.ReadFrame()
		if err != nil {
			return
		}
		switch f := f.(type) {
		case *http2.SettingsFrame:
			if f.IsAck() {
				continue
			}
			p.Printf("SETTINGS")
			_ = f.ForeachSetting(func(s http2.Setting) error { p.Printf("  %v=%d", s.ID, s.Val); return nil })
		case *http2.WindowUpdateFrame:
			p.Printf("WINDOW_UPDATE %d", f.Increment)
		default:
			p.Printf("%v", f.Header().Type)
		}
	}
}
