// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"sync"

	"google.golang.org/grpc"
	czpb "google.golang.org/grpc/channelz/grpc_channelz_v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/stats/opentelemetry/csm"
	"google.golang.org/grpc/status"
)

// orderStats notes the events of RPCs in their order.
type orderStats struct{ j *journal }

func (orderStats) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (orderStats) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (orderStats) HandleConn(context.Context, stats.ConnStats)                       {}
func (s orderStats) HandleRPC(_ context.Context, e stats.RPCStats)                   { s.j.add("%T", e) }

// contextEnds prints why the context of a handler ends, and what it says later.
func contextEnds(p *probe.P, run func(ctx context.Context, s *rig.Started, began chan struct{})) {
	began, contexts := make(chan struct{}, 1), make(chan context.Context, 1)
	var handlers sync.WaitGroup
	handlers.Add(1)
	hold := func(ctx context.Context) {
		contexts <- ctx
		began <- struct{}{}
	}
	s := rig.Pair{TCP: true, Handlers: rig.Handlers{
		Unary: func(ctx context.Context, m *rig.Msg) (*rig.Msg, error) {
			defer handlers.Done()
			hold(ctx)
			return m, nil
		},
		Stream: func(s grpc.ServerStream) error {
			defer handlers.Done()
			hold(s.Context())
			<-s.Context().Done()
			p.Printf("in the handler: %v, %v", s.Context().Err(), context.Cause(s.Context()))
			return s.Context().Err()
		},
	}}.Start(p)
	run(p.Context(), s, began)
	ctx := <-contexts
	handlers.Wait()
	select {
	case <-ctx.Done():
		p.Printf("after the handler: %v, %v", ctx.Err(), context.Cause(ctx))
	case <-p.Context().Done():
		p.Printf("it does not end")
	}
}

// deadlineFrames prints what a client is sent when its deadline passes, which it does not act on.
func deadlineFrames(p *probe.P, watch func(context.Context)) {
	over := make(chan struct{})
	s := rig.Pair{TCP: true, Handlers: rig.Handlers{Unary: func(ctx context.Context, _ *rig.Msg) (*rig.Msg, error) {
		watch(ctx)
		<-over
		return nil, status.Error(codes.Aborted, "late")
	}}}.Serve(p)
	r := rig.RawClient(p, s.Listener.Addr().String())
	r.Headers(1, false, rig.RequestFields("grpc-timeout", "400m")...)
	_ = r.WriteData(1, true, rig.Message("q"))
	r.Print(p, 1)
	close(over)
}

// rowProbes are those of rows of README's table that say what is seen once, or by chance.
func rowProbes() []probe.Probe { return append(contextEndProbes(), otherRowProbes()...) }

func contextEndProbes() []probe.Probe {
	stream := func(ctx context.Context, s *rig.Started) grpc.ClientStream {
		st, err := s.NewStream(ctx, rig.BidiDesc, rig.Bidi)
		if err != nil {
			panic(err)
		}
		return st
	}
	return []probe.Probe{
		{Name: "row/context of a handler that returned", Run: func(p *probe.P) {
			contextEnds(p, func(_ context.Context, s *rig.Started, _ chan struct{}) { p.Printf("%s", call(p.Context(), s)) })
		}},
		{Name: "row/context of a canceled stream", Run: func(p *probe.P) {
			contextEnds(p, func(ctx context.Context, s *rig.Started, began chan struct{}) {
				ctx, cancel := context.WithCancel(ctx)
				_ = stream(ctx, s)
				<-began
				cancel()
			})
		}},
		{Name: "row/context of a stream whose connection breaks", Run: func(p *probe.P) {
			contextEnds(p, func(ctx context.Context, s *rig.Started, began chan struct{}) {
				_ = stream(ctx, s)
				<-began
				_ = s.ClientConn.Close()
			})
		}},
		{Name: "row/context of a stream whose server stops", Run: func(p *probe.P) {
			contextEnds(p, func(ctx context.Context, s *rig.Started, began chan struct{}) {
				_ = stream(ctx, s)
				<-began
				s.Server.Stop()
			})
		}},
	}
}

// otherRowProbes are about frames, events, channelz and CSM.
func otherRowProbes() []probe.Probe {
	return []probe.Probe{
		{Name: "row/deadline, the handler stays", Run: func(p *probe.P) { deadlineFrames(p, func(context.Context) {}) }},
		{Name: "row/deadline, the handler watches", Run: func(p *probe.P) { deadlineFrames(p, func(ctx context.Context) { <-ctx.Done() }) }},
		{Name: "row/reply, and trailers later", Run: func(p *probe.P) {
			read := make(chan struct{})
			addr := rig.RawServer(p, func(r *rig.Raw) {
				req, err := r.AcceptAll()
				if err != nil {
					return
				}
				r.Headers(req.ID, false, ":status", "200", "content-type", "application/grpc")
				_ = r.WriteData(req.ID, false, rig.Message("a"))
				<-read
				r.Headers(req.ID, true, "grpc-status", "0")
				_, _ = r.Accept()
			})
			j := &journal{}
			cc := channelTo(p, addr, grpc.WithStatsHandler(orderStats{j}))
			st, err := cc.NewStream(p.Context(), rig.ServerStreamDesc, rig.ServerStream)
			p.Printf("%s", rig.Err(err))
			p.Printf("%s %s", rig.Err(st.SendMsg(rig.M("q"))), rig.Err(st.CloseSend()))
			p.Printf("%s", rig.Err(st.RecvMsg(new(rig.Msg))))
			close(read)
			p.Printf("%s", rig.Err(st.RecvMsg(new(rig.Msg))))
			j.print(p)
		}},
		{Name: "row/windows of a socket", Alone: true, Run: func(p *probe.P) {
			s := rig.Pair{TCP: true, Server: []grpc.ServerOption{grpc.StaticConnWindowSize(300 << 10)}, Dial: []grpc.DialOption{grpc.WithStaticConnWindowSize(200 << 10)}}.Start(p)
			p.Printf("%s", call(p.Context(), s))
			c := channelzClient(p)
			top := topChannel(p, c, portOf(s.Listener.Addr().String()))
			sub, err := c.GetSubchannel(p.Context(), &czpb.GetSubchannelRequest{SubchannelId: top.GetSubchannelRef()[0].GetSubchannelId()})
			p.Printf("%s", rig.Err(err))
			socket, err := c.GetSocket(p.Context(), &czpb.GetSocketRequest{SocketId: sub.GetSubchannel().GetSocketRef()[0].GetSocketId()})
			p.Printf("%s", rig.Err(err))
			d := socket.GetSocket().GetData()
			p.Printf("local above 250 KiB: %v, remote: %v", d.GetLocalFlowControlWindow().GetValue() > 250<<10, d.GetRemoteFlowControlWindow().GetValue() > 250<<10)
		}},
		{Name: "row/labels of CSM", Alone: true, Env: []string{"GCE_METADATA_HOST=127.0.0.1:1", "CSM_WORKLOAD_NAME=w", "CSM_MESH_ID=m"}, Run: func(p *probe.P) {
			m := newMeters()
			stop := csm.EnableObservability(p.Context(), m.options(nil))
			s := rig.Pair{TCP: true}.Start(p)
			p.Printf("%s", call(p.Context(), s))
			probe.Settle(0)
			_ = s.ClientConn.Close()
			s.Server.GracefulStop()
			stop()
			for _, l := range m.read() {
				p.Printf("%s", l)
			}
		}},
	}
}
