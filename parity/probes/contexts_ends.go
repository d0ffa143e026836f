// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"net"
	"runtime"

	"google.golang.org/grpc"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
	"google.golang.org/grpc/status"
)

// exitProbes have handlers that do not return.
func exitProbes() []probe.Probe {
	exit := rig.Handlers{
		Unary:  func(context.Context, *rig.Msg) (*rig.Msg, error) { runtime.Goexit(); return nil, nil },
		Stream: func(grpc.ServerStream) error { runtime.Goexit(); return nil },
	}
	var out []probe.Probe
	for _, method := range []string{rig.Unary, rig.Bidi} {
		out = append(out, probe.Probe{Name: "handler that exits/" + method, Run: func(p *probe.P) {
			server := newRecorder()
			s := rig.Pair{TCP: true, Handlers: exit, Server: []grpc.ServerOption{grpc.StatsHandler(server)}}.Start(p)
			s.Ready(p)
			ctx, cancel := context.WithCancel(p.Context())
			go func() { _ = s.Invoke(ctx, method, rig.M("x"), new(rig.Msg)) }()
			select {
			case <-server.ends:
			case <-p.Context().Done():
				p.Printf("no end")
			}
			cancel()
			server.print(p, "server")
		}})
	}
	return out
}

// silentProbes have servers that close a connection before their SETTINGS.
var silentProbes = []probe.Probe{{Name: "connection closed before SETTINGS", Run: func(p *probe.P) {
	addr := rig.ConnServer(p, func(c net.Conn) { _, _ = io.ReadFull(c, make([]byte, 24)) })
	client := newRecorder()
	cc := channelTo(p, addr, grpc.WithStatsHandler(client))
	p.Printf("%v", status.Code(cc.Invoke(p.Context(), rig.Unary, rig.M(""), new(rig.Msg))))
	_ = cc.Close()
	eventually(p, "the end", func() bool {
		client.mu.Lock()
		defer client.mu.Unlock()
		return len(client.conns) >= 3
	})
	client.mu.Lock()
	defer client.mu.Unlock()
	p.Printf("%q", client.conns[:min(3, len(client.conns))])
}}}
