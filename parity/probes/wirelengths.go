// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"sync"

	"golang.org/x/net/http2"

	"google.golang.org/grpc"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
	"google.golang.org/grpc/stats"
)

// wireLengths are those that a stats handler was told, in their order.
type wireLengths struct {
	*recorder
	mu   sync.Mutex
	told []string
}

func (w *wireLengths) HandleRPC(ctx context.Context, s stats.RPCStats) {
	w.mu.Lock()
	switch s := s.(type) {
	case *stats.InHeader:
		w.told = append(w.told, fmt.Sprintf("InHeader %d", s.WireLength))
	case *stats.InTrailer:
		w.told = append(w.told, fmt.Sprintf("InTrailer %d", s.WireLength))
	}
	w.mu.Unlock()
	w.recorder.HandleRPC(ctx, s)
}

// print prints the lengths once an RPC has ended.
func (w *wireLengths) print(p *probe.P) {
	<-w.ends
	w.mu.Lock()
	defer w.mu.Unlock()
	p.Printf("%q", w.told)
}

// framings are ways to send one field block.
var framings = []struct {
	name string
	send func(r *rig.Raw, id uint32, end bool, block []byte)
}{
	{"one frame", func(r *rig.Raw, id uint32, end bool, block []byte) {
		_ = r.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block, EndHeaders: true, EndStream: end})
	}},
	{"padding", func(r *rig.Raw, id uint32, end bool, block []byte) {
		_ = r.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block, EndHeaders: true, EndStream: end, PadLength: 20})
	}},
	{"a priority", func(r *rig.Raw, id uint32, end bool, block []byte) {
		_ = r.WriteHeaders(http2.HeadersFrameParam{
			StreamID: id, BlockFragment: block, EndHeaders: true, EndStream: end, Priority: http2.PriorityParam{Weight: 7},
		})
	}},
	{"CONTINUATION", func(r *rig.Raw, id uint32, end bool, block []byte) {
		_ = r.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block[:1], EndStream: end})
		_ = r.WriteContinuation(id, false, block[1:2])
		_ = r.WriteContinuation(id, true, block[2:])
	}},
	{"an empty CONTINUATION", func(r *rig.Raw, id uint32, end bool, block []byte) {
		_ = r.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block, EndStream: end})
		_ = r.WriteContinuation(id, true, nil)
	}},
}

// wireRequest sends requests that differ in how much of them the HPACK table says, one after the other.
func wireRequest(r *rig.Raw, send func(r *rig.Raw, id uint32, end bool, block []byte), next func()) {
	for i, fields := range [][]string{{}, {}, {"x", "a longer value"}, {"grpc-timeout", "99S"}, {"grpc-timeout", "98S"}, {"grpc-timeout", "7S"}} {
		id := uint32(2*i + 1)
		send(r, id, false, r.Block(rig.RequestFields(fields...)...))
		_ = r.WriteData(id, true, rig.Message("hi"))
		next()
	}
}

func wireLengthProbes() []probe.Probe {
	var out []probe.Probe
	for _, f := range framings {
		out = append(out, probe.Probe{Name: "wire length of requests with " + f.name, Run: func(p *probe.P) {
			w := &wireLengths{recorder: newRecorder()}
			s := rig.Pair{TCP: true, Server: []grpc.ServerOption{grpc.StatsHandler(w)}}.Start(p)
			r := rig.RawClient(p, s.Listener.Addr().String())
			go func() { _, _ = io.Copy(io.Discard, r.Conn) }()
			wireRequest(r, f.send, func() { w.print(p) })
		}}, probe.Probe{Name: "wire length of responses with " + f.name, Run: func(p *probe.P) {
			w := &wireLengths{recorder: newRecorder()}
			addr := rig.RawServer(p, func(r *rig.Raw) {
				for {
					req, err := r.AcceptAll()
					if err != nil {
						return
					}
					f.send(r, req.ID, false, r.Block(":status", "200", "content-type", "application/grpc", "x", "a longer value"))
					_ = r.WriteData(req.ID, false, rig.Message("hi"))
					f.send(r, req.ID, true, r.Block("grpc-status", "0", "grpc-message", "", "y", "another value"))
				}
			})
			cc := channelTo(p, addr, grpc.WithStatsHandler(w))
			for range 3 {
				p.Printf("%s", rig.Err(cc.Invoke(p.Context(), rig.Unary, rig.M(""), new(rig.Msg))))
				w.print(p)
			}
		}}, probe.Probe{Name: "wire length of a response without messages, with " + f.name, Run: func(p *probe.P) {
			w := &wireLengths{recorder: newRecorder()}
			addr := rig.RawServer(p, func(r *rig.Raw) {
				if req, err := r.AcceptAll(); err == nil {
					f.send(r, req.ID, true, r.Block(":status", "200", "content-type", "application/grpc", "grpc-status", "5"))
					_, _ = r.Accept()
				}
			})
			p.Printf("%s", rig.Err(channelTo(p, addr, grpc.WithStatsHandler(w)).Invoke(p.Context(), rig.Unary, rig.M(""), new(rig.Msg))))
			w.print(p)
		}})
	}
	return append(out, probe.Probe{Name: "wire length behind ServeHTTP", Run: func(p *probe.P) {
		w := &wireLengths{recorder: newRecorder()}
		s := grpc.NewServer(grpc.StatsHandler(w))
		s.RegisterService(rig.Handlers{}.Desc(), nil)
		p.Cleanup(s.Stop)
		addr, _ := carriers[0].start(p, s)
		r := rig.RawClient(p, addr)
		go func() { _, _ = io.Copy(io.Discard, r.Conn) }()
		wireRequest(r, framings[0].send, func() { w.print(p) })
	}})
}
