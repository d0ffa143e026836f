// SPDX-License-Identifier: Apache-2.0

package service

import (
	"net"
	"strings"
	"time"

	channelzpb "google.golang.org/grpc/channelz/grpc_channelz_v1"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/internal/channelz"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

func each[From, To any](list []From, convert func(From) To) []To {
	if len(list) == 0 {
		return nil
	}
	out := make([]To, 0, len(list))
	for _, entry := range list {
		out = append(out, convert(entry))
	}
	return out
}

func channelOf(d channelz.NodeData) *channelzpb.Channel {
	c := &channelzpb.Channel{
		Ref:       &channelzpb.ChannelRef{ChannelId: d.ID, Name: text(d.Name)},
		Data:      channelDataOf(d),
		SocketRef: each(d.Sockets, socketRefOf),
	}
	c.ChannelRef, c.SubchannelRef = childrenOf(d)
	return c
}

func subchannelOf(d channelz.NodeData) *channelzpb.Subchannel {
	s := &channelzpb.Subchannel{
		Ref:       &channelzpb.SubchannelRef{SubchannelId: d.ID, Name: text(d.Name)},
		Data:      channelDataOf(d),
		SocketRef: each(d.Sockets, socketRefOf),
	}
	s.Data.MaxConnectionsPerSubchannel = d.MaxConnections
	s.ChannelRef, s.SubchannelRef = childrenOf(d)
	return s
}

func childrenOf(d channelz.NodeData) (channels []*channelzpb.ChannelRef, subchannels []*channelzpb.SubchannelRef) {
	for _, ref := range d.Children {
		switch ref.Kind {
		case channelz.Channel:
			channels = append(channels, channelRefOf(ref))
		case channelz.Subchannel:
			subchannels = append(subchannels, subchannelRefOf(ref))
		}
	}
	return channels, subchannels
}

func channelDataOf(d channelz.NodeData) *channelzpb.ChannelData {
	return &channelzpb.ChannelData{
		State:                    &channelzpb.ChannelConnectivityState{State: stateOf(d.State)},
		Target:                   text(d.Name),
		Trace:                    traceOf(d.Trace),
		CallsStarted:             d.CallsStarted,
		CallsSucceeded:           d.CallsSucceeded,
		CallsFailed:              d.CallsFailed,
		LastCallStartedTimestamp: timeOf(d.LastCallStarted),
	}
}

func stateOf(s connectivity.State) channelzpb.ChannelConnectivityState_State {
	switch s {
	case connectivity.Idle:
		return channelzpb.ChannelConnectivityState_IDLE
	case connectivity.Connecting:
		return channelzpb.ChannelConnectivityState_CONNECTING
	case connectivity.Ready:
		return channelzpb.ChannelConnectivityState_READY
	case connectivity.TransientFailure:
		return channelzpb.ChannelConnectivityState_TRANSIENT_FAILURE
	case connectivity.Shutdown:
		return channelzpb.ChannelConnectivityState_SHUTDOWN
	}
	return channelzpb.ChannelConnectivityState_UNKNOWN
}

func serverOf(d channelz.NodeData) *channelzpb.Server {
	return &channelzpb.Server{
		Ref: &channelzpb.ServerRef{ServerId: d.ID, Name: text(d.Name)},
		Data: &channelzpb.ServerData{
			Trace:                    traceOf(d.Trace),
			CallsStarted:             d.CallsStarted,
			CallsSucceeded:           d.CallsSucceeded,
			CallsFailed:              d.CallsFailed,
			LastCallStartedTimestamp: timeOf(d.LastCallStarted),
		},
		ListenSocket: each(d.Sockets, socketRefOf),
	}
}

func channelRefOf(r channelz.Ref) *channelzpb.ChannelRef {
	return &channelzpb.ChannelRef{ChannelId: r.ID, Name: text(r.Name)}
}

func subchannelRefOf(r channelz.Ref) *channelzpb.SubchannelRef {
	return &channelzpb.SubchannelRef{SubchannelId: r.ID, Name: text(r.Name)}
}

func socketRefOf(r channelz.Ref) *channelzpb.SocketRef {
	return &channelzpb.SocketRef{SocketId: r.ID, Name: text(r.Name)}
}

func traceOf(t channelz.Trace) *channelzpb.ChannelTrace {
	return &channelzpb.ChannelTrace{
		NumEventsLogged:   t.Logged,
		CreationTimestamp: timeOf(t.Created),
		Events:            each(t.Events, eventOf),
	}
}

func eventOf(e channelz.TraceEvent) *channelzpb.ChannelTraceEvent {
	out := &channelzpb.ChannelTraceEvent{
		Description: e.Text,
		Severity:    channelzpb.ChannelTraceEvent_Severity(e.Severity),
		Timestamp:   timeOf(e.Time),
	}
	switch {
	case e.Subject.ID == 0:
	case e.Subject.Kind == channelz.Channel:
		out.ChildRef = &channelzpb.ChannelTraceEvent_ChannelRef{ChannelRef: channelRefOf(e.Subject)}
	case e.Subject.Kind == channelz.Subchannel:
		out.ChildRef = &channelzpb.ChannelTraceEvent_SubchannelRef{SubchannelRef: subchannelRefOf(e.Subject)}
	}
	return out
}

func socketOf(r channelz.Ref, d channelz.SocketData) *channelzpb.Socket {
	return &channelzpb.Socket{
		Ref:        socketRefOf(r),
		Local:      addressOf(d.LocalAddr),
		Remote:     addressOf(d.RemoteAddr),
		RemoteName: text(d.RemoteName),
		Security:   securityOf(d.Security),
		Data: &channelzpb.SocketData{
			StreamsStarted:                   d.StreamsStarted,
			StreamsSucceeded:                 d.StreamsSucceeded,
			StreamsFailed:                    d.StreamsFailed,
			MessagesSent:                     d.MessagesSent,
			MessagesReceived:                 d.MessagesReceived,
			KeepAlivesSent:                   d.KeepAlivesSent,
			LastLocalStreamCreatedTimestamp:  timeOf(d.LastLocalStreamCreated),
			LastRemoteStreamCreatedTimestamp: timeOf(d.LastRemoteStreamCreated),
			LastMessageSentTimestamp:         timeOf(d.LastMessageSent),
			LastMessageReceivedTimestamp:     timeOf(d.LastMessageReceived),
			LocalFlowControlWindow:           windowOf(d, d.LocalFlowControlWindow),
			RemoteFlowControlWindow:          windowOf(d, d.RemoteFlowControlWindow),
			Option:                           append(each(d.Options, optionOf), systemOptions(d.System)...),
			ReceivedGoawayError:              codeOf(d.GoAway),
			PeerMaxConcurrentStreams:         d.MaxStreams,
		},
	}
}

func codeOf(code *uint32) *wrapperspb.UInt32Value {
	if code == nil {
		return nil
	}
	return wrapperspb.UInt32(*code)
}

func optionOf(o channelz.SocketOption) *channelzpb.SocketOption {
	return &channelzpb.SocketOption{Name: text(o.Name), Value: text(o.Value)}
}

// windowOf returns nil for a listener, which has no peer and therefore no windows.
func windowOf(d channelz.SocketData, window int64) *wrapperspb.Int64Value {
	if d.RemoteAddr == nil {
		return nil
	}
	return wrapperspb.Int64(window)
}

func addressOf(a net.Addr) *channelzpb.Address {
	switch a := a.(type) {
	case nil:
		return nil
	case *net.TCPAddr:
		return &channelzpb.Address{Address: &channelzpb.Address_TcpipAddress{
			TcpipAddress: &channelzpb.Address_TcpIpAddress{IpAddress: ipOf(a.IP), Port: int32(a.Port)},
		}}
	case *net.IPAddr:
		return &channelzpb.Address{Address: &channelzpb.Address_TcpipAddress{
			TcpipAddress: &channelzpb.Address_TcpIpAddress{IpAddress: ipOf(a.IP), Port: -1},
		}}
	case *net.UnixAddr:
		return &channelzpb.Address{Address: &channelzpb.Address_UdsAddress_{
			UdsAddress: &channelzpb.Address_UdsAddress{Filename: text(a.Name)},
		}}
	}
	return &channelzpb.Address{Address: &channelzpb.Address_OtherAddress_{
		OtherAddress: &channelzpb.Address_OtherAddress{Name: text(a.String())},
	}}
}

// text returns s as protobuf can carry it. Targets and the names of unix sockets, which a peer chooses, may be
// of any bytes.
func text(s string) string { return strings.ToValidUTF8(s, "\ufffd") }

// ipOf returns the address as 4 bytes if it is an IPv4 address, even if ip holds it in 16.
func ipOf(ip net.IP) []byte {
	if v4 := ip.To4(); v4 != nil {
		return v4
	}
	return ip
}

func securityOf(v credentials.ChannelzSecurityValue) *channelzpb.Security {
	switch v := v.(type) {
	case *credentials.TLSChannelzSecurityValue:
		return &channelzpb.Security{Model: &channelzpb.Security_Tls_{Tls: &channelzpb.Security_Tls{
			CipherSuite:       &channelzpb.Security_Tls_StandardName{StandardName: text(v.StandardName)},
			LocalCertificate:  v.LocalCertificate,
			RemoteCertificate: v.RemoteCertificate,
		}}}
	case *credentials.OtherChannelzSecurityValue:
		other := &channelzpb.Security_OtherSecurity{Name: text(v.Name)}
		if v.Value != nil {
			if packed, err := anypb.New(v.Value); err == nil { // otherwise only the name is shown
				other.Value = packed
			}
		}
		return &channelzpb.Security{Model: &channelzpb.Security_Other{Other: other}}
	}
	return nil
}

func timeOf(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}
