// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/stats"
)

// connContext is a stats handler that changes the context of each connection.
type connContext struct {
	change func(context.Context) context.Context
}

func (c connContext) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context {
	return c.change(ctx)
}
func (connContext) HandleConn(context.Context, stats.ConnStats)                     {}
func (connContext) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }
func (connContext) HandleRPC(context.Context, stats.RPCStats)                       {}

// connEnd is a way in which the context of a connection ends.
type connEnd struct {
	name   string
	change func(context.Context) (context.Context, context.CancelFunc)
}

// tags returns the option of a server with that context. The functions that end one come on stop.
func (e connEnd) tags(stop chan<- context.CancelFunc) []grpc.ServerOption {
	return []grpc.ServerOption{grpc.StatsHandler(connContext{func(ctx context.Context) context.Context {
		ctx, cancel := e.change(ctx)
		stop <- cancel
		return ctx
	}})}
}

// stream has the context end while a handler runs.
func (e connEnd) stream(p *probe.P, handle func(grpc.ServerStream) error) {
	stop, began, got := make(chan context.CancelFunc, 1), make(chan bool, 1), make(chan error, 1)
	s := rig.Pair{TCP: true, Server: e.tags(stop), Handlers: rig.Handlers{Stream: func(s grpc.ServerStream) error {
		_, has := s.Context().Deadline()
		began <- has
		err := handle(s)
		p.Printf("context: %v", s.Context().Err())
		got <- err
		return err
	}}}.Start(p)
	stream, err := s.NewStream(p.Context(), rig.BidiDesc, rig.Bidi)
	if err == nil {
		select {
		case has := <-began:
			p.Printf("has a deadline: %v", has)
		case <-p.Context().Done():
			return
		}
		if cancel := <-stop; e.name == "cancelled" {
			cancel()
		}
		p.Printf("handler: %s", rig.Err(<-got))
	}
	for err == nil {
		err = stream.RecvMsg(new(rig.Msg))
	}
	p.Printf("client: %s", rig.Err(err))
}

// unary has it end while a unary handler runs, and makes another call on the connection.
func (e connEnd) unary(p *probe.P) {
	stop, first := make(chan context.CancelFunc, 9), true
	s := rig.Pair{TCP: true, Server: e.tags(stop), Handlers: rig.Handlers{Unary: func(ctx context.Context, m *rig.Msg) (*rig.Msg, error) {
		if !first {
			return m, nil
		}
		first = false
		if cancel := <-stop; e.name == "cancelled" {
			cancel()
		}
		<-ctx.Done()
		return m, nil
	}}}.Start(p)
	p.Printf("%s", call(p.Context(), s))
	ctx, cancel := probe.WithTimeout(p.Context(), time.Second)
	defer cancel()
	p.Printf("%s", call(ctx, s))
}

// connContextProbes end the context that TagConn returns on a server, or shorten it, while a handler runs.
func connContextProbes() (out []probe.Probe) {
	handlers := []struct {
		name   string
		handle func(grpc.ServerStream) error
	}{
		{"waits", func(s grpc.ServerStream) error { <-s.Context().Done(); return s.Context().Err() }},
		{"receives", func(s grpc.ServerStream) error { return s.RecvMsg(new(rig.Msg)) }},
		{"sends", func(s grpc.ServerStream) (err error) {
			for err == nil {
				err = s.SendMsg(rig.M(string(make([]byte, 1<<10))))
			}
			return err
		}},
		{"goes on", func(s grpc.ServerStream) error {
			<-s.Context().Done()
			return s.SendMsg(rig.M("later"))
		}},
	}
	for _, e := range []connEnd{
		{"cancelled", context.WithCancel},
		{"with a deadline", func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 4*time.Second)
		}},
	} {
		for _, h := range handlers {
			out = append(out, probe.Probe{Name: "context of a connection/" + e.name + "/" + h.name, Limit: 16 * time.Second, Run: func(p *probe.P) { e.stream(p, h.handle) }})
		}
		out = append(out, probe.Probe{Name: "context of a connection/" + e.name + "/unary, and the next", Limit: 16 * time.Second, Run: e.unary})
	}
	return append(out, probe.Probe{Name: "context of a connection/another peer", Run: func(p *probe.P) {
		s := rig.Pair{TCP: true, Server: []grpc.ServerOption{grpc.StatsHandler(connContext{func(ctx context.Context) context.Context {
			return peer.NewContext(ctx, &peer.Peer{Addr: &net.UnixAddr{Name: "other", Net: "unix"}})
		}})}, Handlers: rig.Handlers{Unary: func(ctx context.Context, m *rig.Msg) (*rig.Msg, error) {
			from, _ := peer.FromContext(ctx)
			p.Printf("%T", from.Addr)
			return m, nil
		}}}.Start(p)
		p.Printf("%s", call(p.Context(), s))
	}})
}
