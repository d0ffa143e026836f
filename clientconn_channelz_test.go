// SPDX-License-Identifier: Apache-2.0

package grpc

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/internal/channelz"
	"google.golang.org/grpc/internal/testutils"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
)

func TestClientChannelz(t *testing.T) {
	if !testutils.InChild(t, "") {
		return
	}
	channelz.TurnOn()
	e := newEcho()
	plain := e.unary
	e.unary = func(ctx context.Context, m *text) (*text, error) {
		if m.Value == "fail" {
			return nil, status.Error(codes.Aborted, "")
		}
		return plain(ctx, m)
	}
	s := serve(t, e)
	cc := newTestClient(t, s.addr)
	for _, v := range []string{"a", "b"} {
		if err := call(testContext(t), cc, v); err != nil {
			t.Fatal(err)
		}
	}
	wantCode(t, "fail", call(testContext(t), cc, "fail"), codes.Aborted)

	top, _ := channelz.TopChannels(channelz.Page{})
	if len(top) != 1 || top[0].Name != s.addr || top[0].State != connectivity.Ready {
		t.Fatalf("channels %+v", top)
	}
	if d := top[0]; d.CallsStarted != 3 || d.CallsSucceeded != 2 || d.CallsFailed != 1 || len(d.Children) != 1 {
		t.Fatalf("channel %+v", d)
	}
	sub, ok := channelz.NodeByID(channelz.Subchannel, top[0].Children[0].ID)
	if !ok || sub.State != connectivity.Ready || sub.CallsStarted != 3 || sub.CallsFailed != 1 || len(sub.Sockets) != 1 {
		t.Fatalf("subchannel %+v", sub)
	}
	if d := channelz.SocketByID(sub.Sockets[0].ID).Data(); d.RemoteAddr.String() != s.addr || d.RemoteName != s.addr {
		t.Errorf("socket %+v", d)
	}
	cc.Close()
	if top, _ := channelz.TopChannels(channelz.Page{}); len(top) != 0 {
		t.Errorf("left after Close: %+v", top)
	}
}

// TestChannelzCounts counts all that was begun on the channel, and on the subchannel what came
// so far as to have one.
func TestChannelzCounts(t *testing.T) {
	if !testutils.InChild(t, "") {
		return
	}
	channelz.TurnOn()
	s := serve(t, newEcho())
	cc := newTestClient(t, s.addr)
	if err := call(testContext(t), cc, "x"); err != nil {
		t.Fatal(err)
	}
	top, _ := channelz.TopChannels(channelz.Page{})
	sub := top[0].Children[0].ID
	canceled, cancel := context.WithCancel(testContext(t))
	cancel()
	for _, tt := range []struct {
		name           string
		ctx            context.Context
		opts           []CallOption
		channel, below int64 // counted by then, on the channel and the subchannel
	}{
		{"canceled before", canceled, nil, 2, 1},
		{"illegal metadata", metadata.AppendToOutgoingContext(testContext(t), "a b", "c"), nil, 3, 1},
		{"unknown compressor", testContext(t), []CallOption{UseCompressor("none")}, 4, 1},
		{"over the limit", testContext(t), []CallOption{MaxCallSendMsgSize(0)}, 5, 2},
	} {
		if err := call(tt.ctx, cc, "x", tt.opts...); err == nil {
			t.Errorf("%s: no error", tt.name)
		}
		d, _ := channelz.NodeByID(channelz.Channel, top[0].ID)
		below, _ := channelz.NodeByID(channelz.Subchannel, sub)
		if d.CallsStarted != tt.channel || d.CallsFailed != tt.channel-1 || below.CallsStarted != tt.below || below.CallsFailed != tt.below-1 {
			t.Errorf("%s: the channel began %d and failed %d, the subchannel %d and %d", tt.name, d.CallsStarted, d.CallsFailed, below.CallsStarted, below.CallsFailed)
		}
	}
}

// TestChannelzScaling: a subchannel tells how many connections it may have, and a connection how
// many RPCs its server takes, and that this said good-bye (gRFC A105).
func TestChannelzScaling(t *testing.T) {
	if !testutils.InChild(t, "") {
		return
	}
	channelz.TurnOn()
	c := newCrowd(t)
	cc := newTestClient(t, c.addr, withScaling(true), WithDefaultServiceConfig(scaling(3)))
	calls := c.begin(cc, 1)
	c.where(1)
	top, _ := channelz.TopChannels(channelz.Page{})
	sub, _ := channelz.NodeByID(channelz.Subchannel, top[0].Children[0].ID)
	if sub.MaxConnections != 3 || top[0].MaxConnections != 0 || len(sub.Sockets) != 1 {
		t.Fatalf("subchannel %+v", sub)
	}
	socket := channelz.SocketByID(sub.Sockets[0].ID)
	if d := socket.Data(); d.MaxStreams != 2 || d.GoAway != nil {
		t.Errorf("socket %+v", d)
	}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		c.GracefulStop()
	}()
	if !cc.WaitForStateChange(testContext(t), connectivity.Ready) {
		t.Fatal("the channel stays ready")
	}
	if d := socket.Data(); d.GoAway == nil || *d.GoAway != 0 {
		t.Errorf("socket after GOAWAY %+v", d)
	}
	c.leave <- struct{}{}
	if err := <-calls.done; err != nil {
		t.Error(err)
	}
	<-stopped
}

// TestCloseThatExits: a channel is closed whose Close a stats handler has left, and so are its other streams.
func TestCloseThatExits(t *testing.T) {
	if !testutils.InChild(t, "") {
		return
	}
	channelz.TurnOn()
	var end atomic.Pointer[func()]
	cc := newTestClient(t, serve(t, newEcho()).addr, WithStatsHandler(atEnd{end: &end}))
	var streams []ClientStream
	for range 3 {
		s, err := cc.NewStream(testContext(t), bidiStream, bidiMethod)
		if err != nil {
			t.Fatal(err)
		}
		streams = append(streams, s)
	}
	var exited atomic.Int64
	exit := func() { exited.Add(1); runtime.Goexit() }
	end.Store(&exit)
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_ = cc.Close()
	}()
	within(t, closed, "Close")
	for _, s := range streams {
		wantCode(t, "a stream", s.RecvMsg(new(text)), codes.Canceled)
	}
	waitUntil(t, "the end of all", func() bool { return exited.Load() == 3 })
	waitUntil(t, "the channel's end for channelz", func() bool {
		top, _ := channelz.TopChannels(channelz.Page{})
		return len(top) == 0
	})
}

// atEnd is a stats handler that calls a function when it is told of an end.
type atEnd struct {
	quietStats
	end *atomic.Pointer[func()]
}

func (a atEnd) HandleRPC(_ context.Context, e stats.RPCStats) {
	if f := a.end.Load(); f != nil {
		if _, is := e.(*stats.End); is {
			(*f)()
		}
	}
}
