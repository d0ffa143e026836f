// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
)

// replies are what a server has sent before its client looks at it.
var replies = []struct {
	name     string
	messages int
	end      func(context.Context) error
}{
	{"five, OK", 5, func(context.Context) error { return nil }},
	{"five, an error", 5, func(context.Context) error { return status.Error(codes.Aborted, "mine") }},
	{"five, CANCELLED", 5, ownCancel},
	{"five, no end", 5, stays},
	{"one, OK", 1, func(context.Context) error { return nil }},
	{"one, no end", 1, stays},
	{"none, OK", 0, func(context.Context) error { return nil }},
	{"none, an error", 0, func(context.Context) error { return status.Error(codes.Aborted, "mine") }},
	{"none, CANCELLED", 0, ownCancel},
	{"none, no end", 0, stays},
}

func ownCancel(context.Context) error {
	st, _ := status.New(codes.Canceled, "mine").WithDetails(rig.M("detail"))
	return st.Err()
}

func stays(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }

// lateEnds are how a client ends its context after that.
var lateEnds = []struct {
	name  string
	begin func(context.Context) (ctx context.Context, end func())
}{
	{"deadline", probe.WithExpiry},
	{"cancel", func(ctx context.Context) (context.Context, func()) { return context.WithCancel(ctx) }},
}

// lateProbes have a client take what has come only once its context has ended.
func lateProbes() []probe.Probe {
	var out []probe.Probe
	for _, r := range replies {
		for _, e := range lateEnds {
			for _, first := range []int{0, 1} {
				if first > r.messages {
					continue
				}
				name := "late/" + e.name + ", " + r.name
				if first > 0 {
					name += ", one is taken before"
				}
				out = append(out, probe.Probe{Name: name, Run: func(p *probe.P) {
					l := newLate(p, r.messages, r.end)
					ctx, end := e.begin(p.Context())
					s, err := l.NewStream(ctx, rig.ServerStreamDesc, rig.ServerStream)
					p.Printf("%s", rig.Err(err))
					l.ask(p, s)
					for range first {
						receiveLate(p, s)
					}
					end()
					probe.Settle(0)
					for range 7 {
						if !receiveLate(p, s) {
							break
						}
					}
					md, err := s.Header()
					p.Printf("header %s %s trailer %s", rig.MD(md), rig.Err(err), rig.MD(s.Trailer()))
					l.events.print(p)
				}})
			}
			if r.messages < 5 {
				out = append(out, probe.Probe{Name: "late/" + e.name + ", " + r.name + " to ClientStream", Run: func(p *probe.P) {
					l := newLate(p, r.messages, r.end)
					ctx, end := e.begin(p.Context())
					s, err := l.NewStream(ctx, rig.ClientStreamDesc, rig.ClientStream)
					p.Printf("%s", rig.Err(err))
					l.ask(p, s)
					end()
					probe.Settle(0)
					receiveLate(p, s)
					receiveLate(p, s)
					l.events.print(p)
				}})
			}
		}
	}
	return out
}

// late is a server, and a channel to it.
type late struct {
	*rig.Started
	sent   chan struct{}
	events *lateEvents
}

// lateEvents is a stats handler that writes down what it is told of streams.
type lateEvents struct {
	ownRPCs
}

func (l *lateEvents) HandleRPC(ctx context.Context, s stats.RPCStats) {
	switch s.(type) {
	case *stats.OutPayload, *stats.InTrailer:
		return // they come beside the answer
	}
	e := fmt.Sprintf("%T", s)
	if end, ok := s.(*stats.End); ok {
		e += " " + rig.Err(end.Error)
	}
	if method, _ := ctx.Value(ownMethod{}).(string); method != rig.Unary {
		l.add("", e)
	}
}

func newLate(p *probe.P, messages int, end func(context.Context) error) late {
	l := late{sent: make(chan struct{}), events: new(lateEvents)}
	l.Started = rig.Pair{Handlers: rig.Handlers{Stream: func(s grpc.ServerStream) error {
		_ = s.RecvMsg(new(rig.Msg))
		_ = s.SendHeader(metadata.Pairs("h", "1"))
		s.SetTrailer(metadata.Pairs("t", "1"))
		for i := range messages {
			_ = s.SendMsg(rig.M(string(rune('a' + i))))
		}
		close(l.sent)
		return end(s.Context())
	}}, Dial: []grpc.DialOption{grpc.WithStatsHandler(l.events)}}.Start(p)
	l.Ready(p)
	return l
}

// ask sends a message, and waits until what the server sends has come.
func (l late) ask(p *probe.P, s grpc.ClientStream) {
	p.Printf("%s", rig.Err(s.SendMsg(rig.M("q"))))
	p.Printf("%s", rig.Err(s.CloseSend()))
	<-l.sent
	probe.Settle(0)
	_, err := l.Call(p.Context(), "afterwards")
	p.Printf("%s", rig.Err(err))
	probe.Settle(0)
}

// receiveLate receives and prints a message. It reports whether there was one.
func receiveLate(p *probe.P, s grpc.ClientStream) bool {
	m := new(rig.Msg)
	err := s.RecvMsg(m)
	if err == io.EOF {
		p.Printf("EOF")
		return false
	}
	p.Printf("%q %s", m.GetValue(), rig.Err(err))
	return err == nil
}

// atOnceProbes have a client cancel an RPC, and receive at once. Messages have come; an end may just be on its way.
func atOnceProbes() []probe.Probe {
	var out []probe.Probe
	for _, r := range replies {
		if r.messages == 0 {
			continue
		}
		out = append(out, probe.Probe{Name: "late/canceled at once, " + r.name, Run: func(p *probe.P) {
			seen := make(map[string]bool)
			for range 10 {
				ctx, cancel := context.WithCancel(p.Context())
				l := newLate(p, r.messages, r.end)
				s, err := l.NewStream(ctx, rig.ServerStreamDesc, rig.ServerStream)
				if err != nil {
					p.Printf("%v", err)
				}
				_ = s.SendMsg(rig.M("q"))
				_ = s.CloseSend()
				<-l.sent
				_, _ = l.Call(p.Context(), "afterwards")
				_, _ = l.Call(p.Context(), "afterwards")
				cancel()
				what := ""
				for m := new(rig.Msg); err == nil && s.RecvMsg(m) == nil; {
					what += m.GetValue()
				}
				seen[what] = true
			}
			p.Printf("%q", slices.Sorted(maps.Keys(seen)))
		}})
	}
	return out
}
