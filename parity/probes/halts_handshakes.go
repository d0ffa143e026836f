// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
	"google.golang.org/grpc/stats"
)

// handshakeGate is credentials and a stats handler. What is named waits in them, at the first connection.
type handshakeGate struct {
	credentials.TransportCredentials
	*gate
	named string
}

func (g handshakeGate) at(what string) {
	if what == g.named {
		g.told(&stats.ConnBegin{})
	}
}

func (g handshakeGate) ServerHandshake(c net.Conn) (net.Conn, credentials.AuthInfo, error) {
	g.at("the credentials")
	return g.TransportCredentials.ServerHandshake(c)
}

func (g handshakeGate) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context {
	g.at("TagConn")
	return ctx
}

func (g handshakeGate) HandleConn(_ context.Context, e stats.ConnStats) {
	switch e.(type) {
	case *stats.ConnBegin:
		g.at("ConnBegin")
	case *stats.ConnEnd:
		g.at("ConnEnd")
	}
}

func (g handshakeGate) Clone() credentials.TransportCredentials { return g }

// handshakeProbes tell whether a server stops while what a program brings to a connection's begin has not returned.
func handshakeProbes() []probe.Probe {
	var out []probe.Probe
	for _, named := range []string{"the credentials", "TagConn", "ConnBegin"} {
		for _, stop := range []struct {
			name string
			stop func(*grpc.Server)
		}{{"Stop", (*grpc.Server).Stop}, {"GracefulStop", (*grpc.Server).GracefulStop}} {
			out = append(out, probe.Probe{Name: stop.name + " while " + named + " of a connection wait", Run: func(p *probe.P) {
				g := handshakeGate{insecure.NewCredentials(), newGate("ConnBegin"), named}
				s := rig.Pair{TCP: true, Server: []grpc.ServerOption{grpc.Creds(g), grpc.StatsHandler(g)}}.Serve(p)
				conn, err := net.Dial("tcp", s.Listener.Addr().String())
				if err != nil {
					panic(err)
				}
				p.Cleanup(func() { _ = conn.Close() })
				_, _ = conn.Write([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"))
				<-g.arrived
				returned := make(chan struct{})
				go func() { defer close(returned); stop.stop(s.Server) }()
				select {
				case <-returned:
					p.Printf("it returns")
				case <-probe.Quiet(moment):
					p.Printf("it waits")
				}
				close(g.open)
				<-returned
			}})
		}
	}
	return append(out,
		probe.Probe{Name: "GracefulStop while the credentials of a connection wait, and then an RPC", Run: func(p *probe.P) {
			g := handshakeGate{insecure.NewCredentials(), newGate("ConnBegin"), "the credentials"}
			s := rig.Pair{TCP: true, Server: []grpc.ServerOption{grpc.Creds(g)}}.Serve(p)
			r := rig.RawConn(p, s.Listener.Addr().String())
			<-g.arrived
			callAfterStop(p, s, r, func() { close(g.open) })
		}},
		probe.Probe{Name: "GracefulStop before the preface of a connection, and then an RPC", Run: func(p *probe.P) {
			s := rig.Pair{TCP: true}.Serve(p)
			r := rig.RawConn(p, s.Listener.Addr().String())
			probe.Settle(moment) // until it is accepted
			callAfterStop(p, s, r, func() {})
		}})
}

// callAfterStop makes a call on a connection whose handshake is not over when the server is stopped.
func callAfterStop(p *probe.P, s *rig.Started, r *rig.Raw, goOn func()) {
	returned := make(chan struct{})
	go func() { defer close(returned); s.Server.GracefulStop() }()
	probe.Settle(moment)
	goOn()
	r.Greet()
	r.Headers(1, false, rig.RequestFields()...)
	_ = r.WriteData(1, true, rig.Message("q"))
	r.Print(p, 1)
	_ = r.Close()
	<-returned
}
