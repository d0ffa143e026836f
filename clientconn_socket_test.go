// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"testing"
	"time"

	"google.golang.org/grpc/internal/channelz"
	"google.golang.org/grpc/internal/envconfig"
	"google.golang.org/grpc/internal/park"
	"google.golang.org/grpc/internal/testutils"
)

func TestSocketsInChannelz(t *testing.T) {
	if !testutils.InChild(t, "") {
		return
	}
	parks := park.Supported() && envconfig.HTTPFramerReadBufferPooling
	channelz.TurnOn()
	s := serve(t, newEcho())
	cc := newTestClient(t, s.addr)
	for range 3 {
		if err := call(testContext(t), cc, "x"); err != nil {
			t.Fatal(err)
		}
	}
	top, _ := channelz.TopChannels(channelz.Page{})
	sub, _ := channelz.NodeByID(channelz.Subchannel, top[0].Children[0].ID)
	servers, _ := channelz.Servers(channelz.Page{})
	accepted, _ := channelz.ServerSockets(servers[0].ID, channelz.Page{})
	ours, theirs := channelz.SocketByID(sub.Sockets[0].ID), channelz.SocketByID(accepted[0].ID)
	for name, socket := range map[string]*channelz.Socket{"client": ours, "server": theirs} {
		var d channelz.SocketData
		settled := func() bool {
			d = socket.Data()
			return d.StreamsSucceeded == 3 && (!parks || d.Options[0].Value == "true")
		}
		for late := time.Now().Add(20 * time.Second); !settled() && time.Now().Before(late); {
			<-time.After(time.Millisecond)
		}
		if d.StreamsStarted != 3 || d.StreamsSucceeded != 3 || d.StreamsFailed != 0 || d.MessagesSent != 3 || d.MessagesReceived != 3 {
			t.Errorf("%s: %+v", name, d)
		}
		if d.LastLocalStreamCreated.IsZero() != (name == "server") || d.LastRemoteStreamCreated.IsZero() != (name == "client") || d.LastMessageSent.IsZero() || d.LastMessageReceived.IsZero() {
			t.Errorf("times of the %s: %+v", name, d)
		}
		if d.LocalFlowControlWindow == 0 || d.RemoteFlowControlWindow == 0 {
			t.Errorf("windows of the %s: %+v", name, d)
		}
		want := []channelz.SocketOption{{Name: "grpc.parked", Value: "true"}, {Name: "grpc.streams_open", Value: "0"}, {Name: "grpc.bytes_held", Value: "0"}}
		if !parks { // it says why
			want = append(want, channelz.SocketOption{Name: "grpc.not_parkable"})
		}
		if len(d.Options) != len(want) {
			t.Fatalf("%s: %+v", name, d.Options)
		}
		for i, o := range d.Options {
			if o.Name != want[i].Name || parks && o.Value != want[i].Value {
				t.Errorf("%s: %+v, want %+v", name, o, want[i])
			}
		}
	}
}
