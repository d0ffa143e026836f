// SPDX-License-Identifier: Apache-2.0

package service

import (
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
	channelzpb "google.golang.org/grpc/channelz/grpc_channelz_v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/internal/channelz"
	"google.golang.org/grpc/internal/leakcheck"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

type source channelz.SocketData

func (s source) ChannelzSocket() channelz.SocketData { return channelz.SocketData(s) }

// want compares a message with one in text format.
func want[M proto.Message](t *testing.T, got M, text string) {
	t.Helper()
	expected := got.ProtoReflect().New().Interface()
	if err := prototext.Unmarshal([]byte(text), expected); err != nil {
		t.Fatal(err)
	}
	if !proto.Equal(got, expected) {
		t.Errorf("got\n%v\nwant\n%v", prototext.Format(got), prototext.Format(expected))
	}
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func TestChannels(t *testing.T) {
	top := channelz.NewNode(nil, channelz.Channel, "dns:///x")
	defer top.Close()
	nested := channelz.NewNode(top, channelz.Channel, "nested")
	defer nested.Close()
	sub := channelz.NewNode(top, channelz.Subchannel, "10.0.0.1:1")
	defer sub.Close()
	conn := channelz.NewSocket(sub, channelz.Connection, source{})
	defer conn.Close()
	top.CallStarted()
	sub.SetState(connectivity.TransientFailure)
	sub.SetMaxConnections(4)

	var s server
	page := must(s.GetTopChannels(t.Context(), &channelzpb.GetTopChannelsRequest{StartChannelId: top.ID()}))(t)
	if len(page.Channel) != 1 || !page.End {
		t.Fatalf("%v", page)
	}
	c := page.Channel[0]
	if one := must(s.GetChannel(t.Context(), &channelzpb.GetChannelRequest{ChannelId: top.ID()}))(t); !proto.Equal(one.Channel, c) {
		t.Errorf("alone %v, in a list %v", one.Channel, c)
	}
	if c.Ref.ChannelId != top.ID() || c.Ref.Name != "dns:///x" || c.Data.Target != "dns:///x" || c.Data.CallsStarted != 1 ||
		c.Data.State.State != channelzpb.ChannelConnectivityState_IDLE || c.Data.LastCallStartedTimestamp == nil {
		t.Errorf("%v", c)
	}
	if len(c.ChannelRef) != 1 || c.ChannelRef[0].ChannelId != nested.ID() || len(c.SubchannelRef) != 1 || c.SubchannelRef[0].SubchannelId != sub.ID() {
		t.Errorf("%v", c)
	}
	if e := c.Data.Trace.Events; c.Data.Trace.NumEventsLogged != 3 || len(e) != 3 || e[0].ChildRef != nil ||
		e[1].GetChannelRef().GetChannelId() != nested.ID() || e[2].GetSubchannelRef().GetSubchannelId() != sub.ID() ||
		e[0].Severity != channelzpb.ChannelTraceEvent_CT_INFO || e[0].Timestamp == nil {
		t.Errorf("%v", c.Data.Trace)
	}
	d := must(s.GetSubchannel(t.Context(), &channelzpb.GetSubchannelRequest{SubchannelId: sub.ID()}))(t).Subchannel
	if d.Ref.SubchannelId != sub.ID() || len(d.SocketRef) != 1 || d.SocketRef[0].SocketId != conn.ID() ||
		d.Data.State.State != channelzpb.ChannelConnectivityState_TRANSIENT_FAILURE || d.Data.MaxConnectionsPerSubchannel != 4 {
		t.Errorf("%v", d)
	}
}

func TestServers(t *testing.T) {
	srv := channelz.NewNode(nil, channelz.Server, "s")
	defer srv.Close()
	listener := channelz.NewSocket(srv, channelz.Listener, source{LocalAddr: &net.UnixAddr{Name: "/x"}})
	defer listener.Close()
	for range 3 {
		defer channelz.NewSocket(srv, channelz.Connection, source{}).Close()
	}
	srv.CallStarted()
	srv.CallEnded(nil)

	var s server
	page := must(s.GetServers(t.Context(), &channelzpb.GetServersRequest{MaxResults: 10}))(t)
	if len(page.Server) != 1 || !page.End {
		t.Fatalf("%v", page)
	}
	got := page.Server[0]
	if got.Ref.ServerId != srv.ID() || got.Ref.Name != "s" || got.Data.CallsSucceeded != 1 || len(got.ListenSocket) != 1 || got.ListenSocket[0].SocketId != listener.ID() {
		t.Errorf("%v", got)
	}
	if one := must(s.GetServer(t.Context(), &channelzpb.GetServerRequest{ServerId: srv.ID()}))(t); !proto.Equal(one.Server, got) {
		t.Errorf("alone %v, in a list %v", one.Server, got)
	}
	sockets := must(s.GetServerSockets(t.Context(), &channelzpb.GetServerSocketsRequest{ServerId: srv.ID(), MaxResults: 2}))(t)
	if len(sockets.SocketRef) != 2 || sockets.End {
		t.Errorf("%v", sockets)
	}
	sockets = must(s.GetServerSockets(t.Context(), &channelzpb.GetServerSocketsRequest{ServerId: srv.ID(), StartSocketId: sockets.SocketRef[1].SocketId + 1}))(t)
	if len(sockets.SocketRef) != 1 || !sockets.End {
		t.Errorf("%v", sockets)
	}
	l := must(s.GetSocket(t.Context(), &channelzpb.GetSocketRequest{SocketId: listener.ID()}))(t).Socket
	l.Ref = nil
	want(t, l, `data {} local { uds_address { filename: "/x" } }`)
}

func TestSocket(t *testing.T) {
	at := func(seconds int64) time.Time { return time.Unix(seconds, 0) }
	calm := uint32(11)
	want(t, socketOf(channelz.Ref{ID: 7, Name: "n"}, channelz.SocketData{
		LocalAddr: &net.TCPAddr{IP: net.IPv4(1, 2, 3, 4), Port: 5}, RemoteAddr: &net.TCPAddr{IP: net.IPv6loopback, Port: 6},
		RemoteName: "name", Security: &credentials.TLSChannelzSecurityValue{StandardName: "S", RemoteCertificate: []byte("R")},
		StreamsStarted: 1, StreamsSucceeded: 2, StreamsFailed: 3, MessagesSent: 4, MessagesReceived: 5, KeepAlivesSent: 6,
		LastLocalStreamCreated: at(1), LastRemoteStreamCreated: at(2), LastMessageSent: at(3), LastMessageReceived: at(4),
		LocalFlowControlWindow: 8, RemoteFlowControlWindow: 9, MaxStreams: 100, GoAway: &calm,
		Options: []channelz.SocketOption{{Name: "a", Value: "1"}, {Name: "b", Value: "2"}},
	}), `
		ref { socket_id: 7 name: "n" }
		local { tcpip_address { ip_address: "\001\002\003\004" port: 5 } }
		remote { tcpip_address { ip_address: "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\001" port: 6 } }
		remote_name: "name"
		security { tls { standard_name: "S" remote_certificate: "R" } }
		data {
			streams_started: 1 streams_succeeded: 2 streams_failed: 3 messages_sent: 4 messages_received: 5 keep_alives_sent: 6
			last_local_stream_created_timestamp { seconds: 1 } last_remote_stream_created_timestamp { seconds: 2 }
			last_message_sent_timestamp { seconds: 3 } last_message_received_timestamp { seconds: 4 }
			local_flow_control_window { value: 8 } remote_flow_control_window { value: 9 }
			option { name: "a" value: "1" } option { name: "b" value: "2" }
			received_goaway_error { value: 11 } peer_max_concurrent_streams: 100
		}`)
}

// TestNamesAreUTF8 has names of any bytes, as file systems allow them.
func TestNamesAreUTF8(t *testing.T) {
	const odd = "/a\xff"
	ref := channelz.Ref{Kind: channelz.Subchannel, ID: 1, Name: odd}
	node := channelz.NodeData{Ref: ref, Children: []channelz.Ref{ref}, Sockets: []channelz.Ref{ref}, Trace: channelz.Trace{Events: []channelz.TraceEvent{{Subject: ref}}}}
	for _, m := range []proto.Message{
		channelOf(node), subchannelOf(node), serverOf(node),
		socketOf(ref, channelz.SocketData{
			LocalAddr: &net.UnixAddr{Name: odd}, RemoteAddr: oddAddr(odd), RemoteName: odd,
			Security: &credentials.OtherChannelzSecurityValue{Name: odd},
			Options:  []channelz.SocketOption{{Name: odd, Value: odd}},
		}),
	} {
		if _, err := proto.Marshal(m); err != nil {
			t.Errorf("%T: %v", m, err)
		}
	}
}

type oddAddr string

func (oddAddr) Network() string  { return "odd" }
func (a oddAddr) String() string { return string(a) }

type otherAddr struct{}

func (otherAddr) Network() string { return "other" }
func (otherAddr) String() string  { return "somewhere" }

func TestAddressesAndSecurity(t *testing.T) {
	want(t, addressOf(&net.IPAddr{IP: net.IPv4(1, 2, 3, 4)}), `tcpip_address { ip_address: "\001\002\003\004" port: -1 }`)
	want(t, addressOf(otherAddr{}), `other_address { name: "somewhere" }`)
	want(t, securityOf(&credentials.OtherChannelzSecurityValue{Name: "x"}), `other { name: "x" }`)
	got := securityOf(&credentials.OtherChannelzSecurityValue{Name: "x", Value: wrapperspb.Int64(3)})
	if m, err := got.GetOther().GetValue().UnmarshalNew(); err != nil || !proto.Equal(m, wrapperspb.Int64(3)) {
		t.Errorf("%v, %v", got, err)
	}
	if got := securityOf(nil); got != nil {
		t.Errorf("%v", got)
	}
	if timeOf(time.Time{}) != nil || !proto.Equal(timeOf(time.Unix(1, 2)), &timestamppb.Timestamp{Seconds: 1, Nanos: 2}) {
		t.Error("times")
	}
}

func TestStates(t *testing.T) {
	for s := connectivity.Idle; s <= connectivity.Shutdown; s++ {
		if got := stateOf(s).String(); got != s.String() {
			t.Errorf("%v is %v", s, got)
		}
	}
	if got := stateOf(99); got != channelzpb.ChannelConnectivityState_UNKNOWN {
		t.Error(got)
	}
}

func TestErrors(t *testing.T) {
	var s server
	ctx := t.Context()
	for name, test := range map[string]struct {
		call func() error
		want codes.Code
	}{
		"channel":    {func() error { _, err := s.GetChannel(ctx, nil); return err }, codes.NotFound},
		"subchannel": {func() error { _, err := s.GetSubchannel(ctx, nil); return err }, codes.NotFound},
		"server":     {func() error { _, err := s.GetServer(ctx, nil); return err }, codes.NotFound},
		"socket":     {func() error { _, err := s.GetSocket(ctx, nil); return err }, codes.NotFound},
		"sockets":    {func() error { _, err := s.GetServerSockets(ctx, nil); return err }, codes.OK},
		"negative sockets": {func() error {
			_, err := s.GetServerSockets(ctx, &channelzpb.GetServerSocketsRequest{MaxResults: -1})
			return err
		}, codes.InvalidArgument},
		"negative servers": {func() error {
			_, err := s.GetServers(ctx, &channelzpb.GetServersRequest{MaxResults: -1})
			return err
		}, codes.InvalidArgument},
		"negative channels": {func() error {
			_, err := s.GetTopChannels(ctx, &channelzpb.GetTopChannelsRequest{MaxResults: -1})
			return err
		}, codes.InvalidArgument},
	} {
		if err := test.call(); status.Code(err) != test.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestHealthCheckIsCounted has a subchannel count the RPC that watches its server's health,
// and the channel not.
func TestHealthCheckIsCounted(t *testing.T) {
	hs := health.NewServer()
	srv := grpc.NewServer()
	healthpb.RegisterHealthServer(srv, hs)
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go srv.Serve(lis)
	defer srv.Stop()
	cc, err := grpc.NewClient(lis.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultServiceConfig(`{"loadBalancingConfig":[{"round_robin":{}}],"healthCheckConfig":{"serviceName":""}}`))
	if err != nil {
		t.Fatal(err)
	}
	defer cc.Close()
	if _, err := healthpb.NewHealthClient(cc).Check(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	top, _ := channelz.TopChannels(channelz.Page{})
	if len(top) != 1 || top[0].CallsStarted != 1 || len(top[0].Children) != 1 {
		t.Fatalf("channels %+v", top)
	}
	sub, _ := channelz.NodeByID(channelz.Subchannel, top[0].Children[0].ID)
	if sub.CallsStarted != 2 || sub.CallsSucceeded != 1 {
		t.Errorf("the subchannel counts %d RPCs of which %d succeeded, want 2 and 1", sub.CallsStarted, sub.CallsSucceeded)
	}
}

type registrar struct{ name string }

func (r *registrar) RegisterService(d *grpc.ServiceDesc, _ any) { r.name = d.ServiceName }

func TestRegister(t *testing.T) {
	var r registrar
	RegisterChannelzServiceToServer(&r)
	if r.name != "grpc.channelz.v1.Channelz" || !channelz.IsOn() {
		t.Errorf("%q, %t", r.name, channelz.IsOn())
	}
}
