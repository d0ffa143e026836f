// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
)

// gate is a stats handler that does not return from the first event of one kind before it is opened.
// What has returned meanwhile is not told after that event.
type gate struct {
	kind    string
	taken   atomic.Bool
	arrived chan struct{} // closed once the event is told
	open    chan struct{} // closed when the handler may return
}

func newGate(kind string) *gate {
	return &gate{kind: "*stats." + kind, arrived: make(chan struct{}), open: make(chan struct{})}
}

func (g *gate) told(event any) {
	if fmt.Sprintf("%T", event) == g.kind && g.taken.CompareAndSwap(false, true) {
		close(g.arrived)
		<-g.open
	}
}

func (*gate) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (*gate) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (g *gate) HandleRPC(_ context.Context, e stats.RPCStats)                   { g.told(e) }
func (g *gate) HandleConn(_ context.Context, e stats.ConnStats)                 { g.told(e) }

// gateRun is what a program does while an event waits, step by step.
type gateRun struct {
	*rig.Started
	ctx    context.Context
	cancel context.CancelFunc
	step   atomic.Pointer[string]
	begun  chan struct{} // has one for each handler that waits for its context's end
}

// in says what the program calls next.
func (r *gateRun) in(what string) { r.step.Store(&what) }

func (r *gateRun) open(first string) grpc.ClientStream {
	r.in("NewStream")
	stream, err := r.NewStream(r.ctx, rig.BidiDesc, rig.Bidi)
	if err != nil {
		panic(err)
	}
	r.in("SendMsg")
	_ = stream.SendMsg(rig.M(first))
	return stream
}

// receive receives to the end of a stream.
func (r *gateRun) receive(stream grpc.ClientStream) {
	for n := 1; ; n++ {
		r.in(fmt.Sprint("RecvMsg ", n))
		if stream.RecvMsg(new(rig.Msg)) != nil {
			return
		}
	}
}

// gatePrograms are what programs do. "wait" has a handler wait, and "fail" fails it.
var gatePrograms = []struct {
	name string
	run  func(r *gateRun)
}{
	{"unary", func(r *gateRun) { r.in("Invoke"); _, _ = r.Call(r.ctx, "x") }},
	{"unary, fails", func(r *gateRun) { r.in("Invoke"); _, _ = r.Call(r.ctx, "fail") }},
	{"unary, canceled", func(r *gateRun) {
		go func() { <-r.begun; r.cancel() }()
		r.in("Invoke")
		_, _ = r.Call(r.ctx, "wait")
	}},
	{"stream", func(r *gateRun) { s := r.open("x"); _ = s.CloseSend(); r.receive(s) }},
	{"stream, fails", func(r *gateRun) { r.receive(r.open("fail")) }},
	{"stream, canceled", func(r *gateRun) {
		s := r.open("wait")
		go func() { <-r.begun; r.cancel() }()
		r.receive(s)
	}},
	{"stream, channel closed", func(r *gateRun) {
		s := r.open("wait")
		go func() { <-r.begun; _ = r.Close() }()
		r.receive(s)
	}},
	{"stream, server stopped", func(r *gateRun) {
		s := r.open("wait")
		go func() { <-r.begun; r.Server.Stop() }()
		r.receive(s)
	}},
	{"Close", func(r *gateRun) { r.in("Invoke"); _, _ = r.Call(r.ctx, "x"); r.in("Close"); _ = r.Close() }},
	{"Close beside an RPC", func(r *gateRun) {
		_ = r.open("wait")
		<-r.begun
		r.in("Close")
		_ = r.Close()
	}},
	{"Stop", func(r *gateRun) { r.in("Invoke"); _, _ = r.Call(r.ctx, "x"); r.in("Stop"); r.Server.Stop() }},
	{"GracefulStop", func(r *gateRun) {
		r.in("Invoke")
		_, _ = r.Call(r.ctx, "x")
		r.in("GracefulStop")
		r.Server.GracefulStop()
	}},
}

// gateEvents are the events that may wait, of each side.
var gateEvents = map[bool][]string{
	true:  {"Begin", "OutHeader", "OutPayload", "InHeader", "InPayload", "InTrailer", "End", "ConnBegin", "ConnEnd"},
	false: {"InHeader", "Begin", "InPayload", "OutHeader", "OutPayload", "OutTrailer", "End", "ConnBegin", "ConnEnd"},
}

// gateProbes tell how far a program comes while a stats handler has not returned from an event.
func gateProbes() []probe.Probe {
	var out []probe.Probe
	for _, client := range []bool{true, false} {
		side := map[bool]string{true: "client", false: "server"}[client]
		for _, kind := range gateEvents[client] {
			for _, program := range gatePrograms {
				name := fmt.Sprintf("waits in %s of the %s/%s", kind, side, program.name)
				out = append(out, probe.Probe{Name: name, Run: func(p *probe.P) { gated(p, client, kind, program.run) }})
			}
		}
	}
	return out
}

func gated(p *probe.P, client bool, kind string, run func(*gateRun)) {
	g := newGate(kind)
	r := &gateRun{begun: make(chan struct{}, 10)}
	wait := func(ctx context.Context, text string) error {
		switch text {
		case "fail":
			return status.Error(codes.Aborted, "no")
		case "wait":
			r.begun <- struct{}{}
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	}
	pair := rig.Pair{TCP: true, Handlers: rig.Handlers{
		Unary: func(ctx context.Context, m *rig.Msg) (*rig.Msg, error) { return m, wait(ctx, m.GetValue()) },
		Stream: func(s grpc.ServerStream) error {
			for m := new(rig.Msg); ; {
				if s.RecvMsg(m) != nil {
					return nil
				}
				if err := wait(s.Context(), m.GetValue()); err != nil {
					return err
				}
				if err := s.SendMsg(m); err != nil {
					return err
				}
			}
		},
	}}
	if client {
		pair.Dial = []grpc.DialOption{grpc.WithStatsHandler(g)}
	} else {
		pair.Server = []grpc.ServerOption{grpc.StatsHandler(g)}
	}
	r.Started = pair.Start(p)
	r.ctx, r.cancel = context.WithCancel(p.Context())
	p.Cleanup(r.cancel)
	returned := make(chan struct{})
	go func() { defer close(returned); run(r); r.in("nothing: it has returned") }()
	probe.Settle(20 * time.Millisecond)
	select {
	case <-g.arrived:
		p.Printf("while the handler has not returned, the program is in %s", *r.step.Load())
	default:
		p.Printf("not told, the program is in %s", *r.step.Load())
	}
	close(g.open)
	<-returned
}
