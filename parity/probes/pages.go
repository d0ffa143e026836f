// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc"
	czpb "google.golang.org/grpc/channelz/grpc_channelz_v1"
	"google.golang.org/grpc/parity/internal/probe"
	"google.golang.org/grpc/parity/internal/rig"
)

// pages are parts of long lists that clients of channelz ask for: from which number on, and
// how many.
var pages = []struct{ start, most int64 }{{0, 0}, {0, 1}, {0, 2}, {0, 1000}, {1, 0}, {-1, 0}, {0, -1}, {-5, 3}, {1 << 40, 0}}

// pageProbes each have a process of their own: channelz looks at all of it.
func pageProbes() []probe.Probe {
	var out []probe.Probe
	for _, page := range pages {
		out = append(out, probe.Probe{Name: fmt.Sprintf("channelz/page of %d from %d", page.most, page.start), Alone: true, Run: func(p *probe.P) {
			c := channelzClient(p)
			for range 3 {
				s := rig.Pair{TCP: true}.Start(p)
				s.Ready(p)
			}
			probe.Settle(0) // the servers know of their connections then
			top, err := c.GetTopChannels(p.Context(), &czpb.GetTopChannelsRequest{StartChannelId: page.start, MaxResults: page.most})
			p.Printf("channels %d end=%v %s", len(top.GetChannel()), top.GetEnd(), rig.Err(err))
			ordered := slices.IsSortedFunc(top.GetChannel(), func(a, b *czpb.Channel) int { return int(a.GetRef().GetChannelId() - b.GetRef().GetChannelId()) })
			p.Printf("in order %v", ordered)
			servers, err := c.GetServers(p.Context(), &czpb.GetServersRequest{StartServerId: page.start, MaxResults: page.most})
			p.Printf("servers %d end=%v %s", len(servers.GetServer()), servers.GetEnd(), rig.Err(err))
			servers, _ = c.GetServers(p.Context(), &czpb.GetServersRequest{})
			for _, server := range servers.GetServer() {
				sockets, err := c.GetServerSockets(p.Context(), &czpb.GetServerSocketsRequest{
					ServerId: server.GetRef().GetServerId(), StartSocketId: page.start, MaxResults: page.most,
				})
				p.Printf("sockets %d end=%v %s", len(sockets.GetSocketRef()), sockets.GetEnd(), rig.Err(err))
			}
		}})
	}
	return append(out, otherPageProbes...)
}

var otherPageProbes = []probe.Probe{
	{Name: "channelz/pages by turns", Alone: true, Run: func(p *probe.P) {
		c := channelzClient(p)
		for range 5 {
			rig.Pair{TCP: true}.Start(p)
		}
		seen := 0
		for start := int64(0); ; {
			top, err := c.GetTopChannels(p.Context(), &czpb.GetTopChannelsRequest{StartChannelId: start, MaxResults: 2})
			if err != nil || len(top.GetChannel()) == 0 {
				p.Printf("%d %s", len(top.GetChannel()), rig.Err(err))
				break
			}
			seen += len(top.GetChannel())
			start = top.GetChannel()[len(top.GetChannel())-1].GetRef().GetChannelId() + 1
			if top.GetEnd() {
				break
			}
		}
		p.Printf("seen %d", seen)
	}},
	{Name: "channelz/a server with many sockets", Alone: true, Run: func(p *probe.P) {
		c := channelzClient(p)
		s := rig.Pair{TCP: true}.Serve(p)
		for range 4 {
			cc := channelTo(p, s.Listener.Addr().String())
			p.Printf("%s", call(p.Context(), cc))
		}
		servers, err := c.GetServers(p.Context(), &czpb.GetServersRequest{})
		p.Printf("%s", rig.Err(err))
		for _, server := range servers.GetServer() {
			for _, most := range []int64{0, 1, 3, 4} {
				sockets, err := c.GetServerSockets(p.Context(), &czpb.GetServerSocketsRequest{ServerId: server.GetRef().GetServerId(), MaxResults: most})
				p.Printf("%d: %d end=%v %s", most, len(sockets.GetSocketRef()), sockets.GetEnd(), rig.Err(err))
			}
		}
	}},
	{Name: "channelz/a server that was never used", Alone: true, Run: func(p *probe.P) {
		c := channelzClient(p)
		s := grpc.NewServer()
		defer s.Stop()
		servers, err := c.GetServers(p.Context(), &czpb.GetServersRequest{})
		p.Printf("%d %s", len(servers.GetServer()), rig.Err(err))
		for _, server := range servers.GetServer() {
			d := server.GetData()
			p.Printf("listens %d calls %d,%d,%d last=%v", len(server.GetListenSocket()), d.GetCallsStarted(), d.GetCallsSucceeded(), d.GetCallsFailed(), d.GetLastCallStartedTimestamp().IsValid())
		}
		s.Stop()
		servers, _ = c.GetServers(p.Context(), &czpb.GetServersRequest{})
		p.Printf("%d", len(servers.GetServer()))
	}},
	{Name: "channelz/security of sockets", Alone: true, Run: func(p *probe.P) {
		c := channelzClient(p)
		s := tlsPair(p, func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 })
		s.Ready(p)
		top := topChannel(p, c, "127.0.0.1")
		for _, ref := range top.GetSubchannelRef() {
			sub, err := c.GetSubchannel(p.Context(), &czpb.GetSubchannelRequest{SubchannelId: ref.GetSubchannelId()})
			p.Printf("%s", rig.Err(err))
			for _, ref := range sub.GetSubchannel().GetSocketRef() {
				socket, err := c.GetSocket(p.Context(), &czpb.GetSocketRequest{SocketId: ref.GetSocketId()})
				t := socket.GetSocket().GetSecurity().GetTls()
				p.Printf("%s suite=%q other=%q local=%v remote=%v", rig.Err(err), t.GetStandardName(), t.GetOtherName(), len(t.GetLocalCertificate()) > 0, len(t.GetRemoteCertificate()) > 0)
			}
		}
	}},
	{Name: "channelz/options of sockets", Alone: true, Run: func(p *probe.P) {
		c := channelzClient(p)
		s := rig.Pair{TCP: true}.Start(p)
		s.Ready(p)
		for _, ref := range topChannel(p, c, "127.0.0.1").GetSubchannelRef() {
			sub, _ := c.GetSubchannel(p.Context(), &czpb.GetSubchannelRequest{SubchannelId: ref.GetSubchannelId()})
			for _, ref := range sub.GetSubchannel().GetSocketRef() {
				socket, _ := c.GetSocket(p.Context(), &czpb.GetSocketRequest{SocketId: ref.GetSocketId()})
				var names []string
				for _, o := range socket.GetSocket().GetData().GetOption() {
					if !strings.HasPrefix(o.GetName(), "grpc.") {
						names = append(names, o.GetName())
					}
				}
				slices.Sort(names)
				p.Printf("%q", names)
			}
		}
	}},
	{Name: "channelz/messages and windows of a socket", Alone: true, Run: func(p *probe.P) {
		c := channelzClient(p)
		s := rig.Pair{TCP: true}.Start(p)
		s.Ready(p)
		stream := bidi(p, s)
		for range 3 {
			_ = stream.SendMsg(rig.M("x"))
			_ = stream.RecvMsg(new(rig.Msg))
		}
		for _, ref := range topChannel(p, c, "127.0.0.1").GetSubchannelRef() {
			sub, _ := c.GetSubchannel(p.Context(), &czpb.GetSubchannelRequest{SubchannelId: ref.GetSubchannelId()})
			for _, ref := range sub.GetSubchannel().GetSocketRef() {
				socket, _ := c.GetSocket(p.Context(), &czpb.GetSocketRequest{SocketId: ref.GetSocketId()})
				d := socket.GetSocket().GetData()
				p.Printf("streams %d,%d,%d messages %d,%d last=%v,%v,%v,%v windows=%v,%v", d.GetStreamsStarted(), d.GetStreamsSucceeded(), d.GetStreamsFailed(),
					d.GetMessagesSent(), d.GetMessagesReceived(), d.GetLastLocalStreamCreatedTimestamp().IsValid(), d.GetLastRemoteStreamCreatedTimestamp().IsValid(),
					d.GetLastMessageSentTimestamp().IsValid(), d.GetLastMessageReceivedTimestamp().IsValid(),
					d.GetLocalFlowControlWindow() != nil, d.GetRemoteFlowControlWindow() != nil)
			}
		}
	}},
	{Name: "channelz/states of a channel", Alone: true, Run: func(p *probe.P) {
		c := channelzClient(p)
		cc := channelTo(p, "127.0.0.1:1", quick)
		sayState := func() {
			top := topChannel(p, c, "127.0.0.1")
			p.Printf("%v subchannels=%d", top.GetData().GetState().GetState(), len(top.GetSubchannelRef()))
		}
		sayState()
		p.Printf("%s", call(p.Context(), cc))
		sayState()
		_ = cc.Close()
		p.Printf("%v", topChannel(p, c, "127.0.0.1") == nil)
	}},
	{Name: "channelz/ended context", Alone: true, Run: func(p *probe.P) {
		c := channelzClient(p)
		ctx, cancel := context.WithCancel(p.Context())
		cancel()
		_, err := c.GetTopChannels(ctx, &czpb.GetTopChannelsRequest{})
		p.Printf("%s", rig.Err(err))
	}},
}
