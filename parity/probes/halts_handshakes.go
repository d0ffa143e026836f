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
	return out
}
