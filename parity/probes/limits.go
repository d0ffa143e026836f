// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"net"
	"strings"
	"time"

	"golang.org/x/net/http2"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
	"google.golang.org/grpc/status"
)

// manyFields are n fields of 100 octets and more.
func manyFields(n int) []string {
	var out []string
	for range n {
		out = append(out, "k", strings.Repeat("v", 100))
	}
	return out
}

// limitProbes are of header lists over the limit, and of what a connection begins with.
var limitProbes = []probe.Probe{
	{Name: "response headers over the limit", Run: func(p *probe.P) {
		addr := rig.RawServer(p, func(r *rig.Raw) {
			req, err := r.AcceptAll()
			if err != nil {
				return
			}
			r.Headers(req.ID, false, ok(manyFields(100)...)...)
			for err == nil {
				_, err = r.Next()
			}
		})
		cc := readyTo(p, addr, grpc.WithMaxHeaderListSize(1000))
		p.Printf("%v", status.Code(cc.Invoke(p.Context(), rig.Unary, rig.M("x"), new(rig.Msg))))
	}},
	{Name: "metadata over the limit, and a neighbour", Limit: 20 * time.Second, Run: func(p *probe.P) {
		began, release := make(chan struct{}, 1), make(chan struct{})
		s := rig.Pair{TCP: true, Server: []grpc.ServerOption{}, Handlers: rig.Handlers{Unary: func(_ context.Context, m *rig.Msg) (*rig.Msg, error) {
			began <- struct{}{}
			<-release
			return m, nil
		}}}.Start(p)
		s.Ready(p)
		neighbour := make(chan error, 1)
		go func() { _, err := s.Call(p.Context(), "x"); neighbour <- err }()
		<-began
		ctx := metadata.AppendToOutgoingContext(p.Context(), "k", strings.Repeat("v", 17<<20))
		_, err := s.Call(ctx, "x")
		p.Printf("%v", status.Code(err))
		close(release)
		p.Printf("the neighbour: %v", status.Code(<-neighbour))
	}},
	{Name: "an acknowledgement as the first frame", Run: func(p *probe.P) {
		s := rig.Pair{TCP: true}.Serve(p)
		conn, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			panic(err)
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, http2.ClientPreface)
		f := http2.NewFramer(conn, conn)
		_ = f.WriteSettingsAck()
		_ = f.WriteSettings()
		_ = f.WritePing(false, [8]byte{1})
		_ = conn.SetReadDeadline(time.Now().Add(5 * time.Second))
		for {
			switch f, err := f.ReadFrame(); f := f.(type) {
			case *http2.GoAwayFrame:
				p.Printf("GOAWAY %v", f.ErrCode)
				return
			case *http2.PingFrame:
				p.Printf("it is taken")
				return
			default:
				if err != nil {
					p.Printf("the connection ends")
					return
				}
			}
		}
	}},
	{Name: "NewStream of an empty method", Run: func(p *probe.P) {
		stream, err := rig.Pair{}.Start(p).NewStream(p.Context(), rig.BidiDesc, "")
		if err != nil {
			p.Printf("NewStream: %s", rig.Err(err))
			return
		}
		p.Printf("RecvMsg: %s", rig.Err(stream.RecvMsg(new(rig.Msg))))
	}},
}
