// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"google.golang.org/grpc"
	czpb "google.golang.org/grpc/channelz/grpc_channelz_v1"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
	"google.golang.org/grpc/resolver"
)

// channelzProbes look at what channelz remembers and counts. Each has a process of its own.
var channelzProbes = []probe.Probe{
	{Name: "channelz/deleted subchannel", Alone: true, Run: func(p *probe.P) {
		s := rig.Pair{TCP: true}.Serve(p)
		cc, r := manualChannel(p)
		r.InitialState(addresses(s.Listener.Addr().String()))
		p.Printf("%s", call(p.Context(), cc))
		c := channelzClient(p)
		id := topChannel(p, c, "manual").GetSubchannelRef()[0].GetSubchannelId()
		sayKept := func(when string) {
			sub, err := c.GetSubchannel(p.Context(), &czpb.GetSubchannelRequest{SubchannelId: id})
			d := sub.GetSubchannel().GetData()
			p.Printf("%s: %s %v started=%d events=%d", when, scrubIDs(rig.Err(err)), d.GetState().GetState(), d.GetCallsStarted(), d.GetTrace().GetNumEventsLogged())
			top := topChannel(p, c, "manual")
			p.Printf("%s: %d subchannels", when, len(top.GetSubchannelRef()))
			refs := 0
			for _, e := range top.GetData().GetTrace().GetEvents() {
				if e.GetSubchannelRef().GetSubchannelId() == id {
					refs++
				}
			}
			p.Printf("%s: named %d times", when, refs)
		}
		probe.Settle(0)
		sayKept("in use")
		p.Printf("%v", r.CC().UpdateState(addresses(server(p))))
		p.Printf("%s", call(p.Context(), cc))
		eventually(p, "deleted", func() bool { return len(topChannel(p, c, "manual").GetSubchannelRef()) == 1 })
		probe.Settle(0)
		sayKept("replaced")
		for range 40 {
			r.CC().ReportError(errors.New("nothing"))
			_ = r.CC().UpdateState(addresses(server(p)))
			if call(p.Context(), cc) == "" {
				break
			}
		}
		sub, err := c.GetSubchannel(p.Context(), &czpb.GetSubchannelRequest{SubchannelId: id})
		p.Printf("when the trace has forgotten it: there=%v code=%s", sub.GetSubchannel() != nil, scrubIDs(rig.Err(err))[:8])
		_ = cc.Close()
	}},
	{Name: "channelz/deleted subchannel, closed channel", Alone: true, Run: func(p *probe.P) {
		s := rig.Pair{TCP: true}.Serve(p)
		cc, r := manualChannel(p)
		r.InitialState(addresses(s.Listener.Addr().String()))
		p.Printf("%s", call(p.Context(), cc))
		c := channelzClient(p)
		top := topChannel(p, c, "manual")
		id := top.GetSubchannelRef()[0].GetSubchannelId()
		_ = cc.Close()
		eventually(p, "channel gone", func() bool {
			_, err := c.GetChannel(p.Context(), &czpb.GetChannelRequest{ChannelId: top.GetRef().GetChannelId()})
			return err != nil
		})
		eventually(p, "subchannel gone", func() bool {
			_, err := c.GetSubchannel(p.Context(), &czpb.GetSubchannelRequest{SubchannelId: id})
			return err != nil
		})
	}},
	{Name: "channelz/health checks", Alone: true, Run: func(p *probe.P) {
		for _, status := range []healthpb.HealthCheckResponse_ServingStatus{healthpb.HealthCheckResponse_SERVING, healthpb.HealthCheckResponse_NOT_SERVING} {
			hs := health.NewServer()
			hs.SetServingStatus("x", status)
			gs := grpc.NewServer()
			gs.RegisterService(rig.Handlers{}.Desc(), nil)
			healthpb.RegisterHealthServer(gs, hs)
			l := rig.Listen()
			go func() { _ = gs.Serve(l) }()
			p.Cleanup(gs.Stop)
			cc, r := manualChannel(p, grpc.WithDefaultServiceConfig(`{"loadBalancingConfig":[{"round_robin":{}}],"healthCheckConfig":{"serviceName":"x"}}`))
			r.InitialState(resolver.State{Endpoints: []resolver.Endpoint{{Addresses: []resolver.Address{{Addr: l.Addr().String()}}}}})
			p.Printf("%s", call(p.Context(), cc))
			c := channelzClient(p)
			probe.Settle(0)
			sayCalls(p, c, "open")
			_ = cc.Close()
		}
	}},
	{Name: "channelz/calls by how they end", Alone: true, Run: func(p *probe.P) {
		s := rig.Pair{TCP: true}.Start(p)
		s.Ready(p)
		c := channelzClient(p)
		for _, call := range []struct {
			name string
			do   func()
		}{
			{"ok", func() { _, _ = s.Call(p.Context(), "x") }},
			{"over the send limit", func() { _, _ = s.Call(p.Context(), "x", grpc.MaxCallSendMsgSize(0)) }},
			{"over the receive limit", func() { _, _ = s.Call(p.Context(), "x", grpc.MaxCallRecvMsgSize(0)) }},
			{"cannot be marshalled", func() { _ = s.Invoke(p.Context(), rig.Unary, "text", new(rig.Msg)) }},
			{"unknown method", func() { _ = s.Invoke(p.Context(), "/probe.Probe/No", rig.M(""), new(rig.Msg)) }},
			{"canceled before", func() {
				ctx, cancel := context.WithCancel(p.Context())
				cancel()
				_, _ = s.Call(ctx, "x")
			}},
			{"late", func() {
				ctx, cancel := context.WithDeadline(p.Context(), time.Now().Add(-time.Second))
				defer cancel()
				_, _ = s.Call(ctx, "x")
			}},
			{"illegal metadata", func() { _, _ = s.Call(metadata.AppendToOutgoingContext(p.Context(), "a b", "c"), "x") }},
			{"unknown compressor", func() { _, _ = s.Call(p.Context(), "x", grpc.UseCompressor("none")) }},
			{"unknown subtype", func() { _, _ = s.Call(p.Context(), "x", grpc.CallContentSubtype("none")) }},
			{"secure credentials", func() { _, _ = s.Call(p.Context(), "x", grpc.PerRPCCredentials(needsTLS{})) }},
			{"stream over the send limit", func() {
				stream, err := s.NewStream(p.Context(), rig.BidiDesc, rig.Bidi, grpc.MaxCallSendMsgSize(0))
				if err != nil {
					p.Printf("%s", rig.Err(err))
					return
				}
				_ = stream.SendMsg(rig.M("hello"))
				_ = stream.RecvMsg(new(rig.Msg))
			}},
			{"stream", func() {
				stream := bidi(p, s)
				_ = stream.CloseSend()
				_ = stream.RecvMsg(new(rig.Msg))
			}},
		} {
			call.do()
			probe.Settle(0)
			top := topChannel(p, c, "127.0.0.1")
			d := top.GetData()
			p.Printf("%s: channel %d,%d,%d", call.name, d.GetCallsStarted(), d.GetCallsSucceeded(), d.GetCallsFailed())
			for _, ref := range top.GetSubchannelRef() {
				sub, _ := c.GetSubchannel(p.Context(), &czpb.GetSubchannelRequest{SubchannelId: ref.GetSubchannelId()})
				d := sub.GetSubchannel().GetData()
				p.Printf("%s: subchannel %d,%d,%d", call.name, d.GetCallsStarted(), d.GetCallsSucceeded(), d.GetCallsFailed())
			}
		}
	}},
}

// needsTLS are credentials that must not travel in plain text.
type needsTLS struct{}

func (needsTLS) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return nil, nil
}
func (needsTLS) RequireTransportSecurity() bool { return true }

// topChannel is the channel whose target has part in it.
func topChannel(p *probe.P, c czpb.ChannelzClient, part string) *czpb.Channel {
	top, err := c.GetTopChannels(p.Context(), &czpb.GetTopChannelsRequest{})
	if err != nil {
		p.Printf("%s", rig.Err(err))
	}
	for _, ch := range top.GetChannel() {
		if strings.Contains(ch.GetData().GetTarget(), part) {
			return ch
		}
	}
	return nil
}

// sayCalls prints what the subchannels of the channel count.
func sayCalls(p *probe.P, c czpb.ChannelzClient, when string) {
	top := topChannel(p, c, "manual")
	d := top.GetData()
	p.Printf("%s: channel %v %d,%d,%d", when, d.GetState().GetState(), d.GetCallsStarted(), d.GetCallsSucceeded(), d.GetCallsFailed())
	for _, ref := range top.GetSubchannelRef() {
		sub, err := c.GetSubchannel(p.Context(), &czpb.GetSubchannelRequest{SubchannelId: ref.GetSubchannelId()})
		d := sub.GetSubchannel().GetData()
		p.Printf("%s: subchannel %s %v %d,%d,%d", when, rig.Err(err), d.GetState().GetState(), d.GetCallsStarted(), d.GetCallsSucceeded(), d.GetCallsFailed())
	}
}

// eventually waits until ok holds, and says so, or that it never did.
func eventually(p *probe.P, what string, ok func() bool) {
	late, stop := probe.QuietOr(2 * time.Second)
	defer stop()
	for !ok() {
		select {
		case <-late:
			if !ok() {
				p.Printf("never: %s", what)
				return
			}
			p.Printf("%s", what)
			return
		case <-time.After(50 * time.Millisecond): // seldom, so that the process can be quiet between two looks
		}
	}
	p.Printf("%s", what)
}
