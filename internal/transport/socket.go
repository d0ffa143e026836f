// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"net"
	"strconv"
	"syscall"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/internal/channelz"
	"google.golang.org/grpc/peer"
)

// ListenerSocket returns l as a socket for channelz.
func ListenerSocket(l net.Listener) channelz.SocketSource { return listenSource{l} }

type listenSource struct{ net.Listener }

// ChannelzSocket implements channelz.SocketSource.
func (l listenSource) ChannelzSocket() channelz.SocketData {
	d := channelz.SocketData{LocalAddr: l.Addr()}
	if sc, ok := l.Listener.(syscall.Conn); ok {
		d.System, _ = sc.SyscallConn()
	}
	return d
}

// ConnSocket returns a connection of either side as a socket for channelz: a *Client, whose peer has a
// name, or a *Server.
func ConnSocket(conn Conn, remoteName string) channelz.SocketSource {
	return connSource{conn, remoteName}
}

// Conn is what a connection of either side tells about itself.
type Conn interface {
	Peer() *peer.Peer
	Stats() ConnStats
	WhyNot() string
	System() syscall.RawConn
}

type connSource struct {
	conn       Conn
	remoteName string
}

// ChannelzSocket implements channelz.SocketSource.
func (c connSource) ChannelzSocket() channelz.SocketData {
	p, st := c.conn.Peer(), c.conn.Stats()
	d := channelz.SocketData{
		LocalAddr: p.LocalAddr, RemoteAddr: p.Addr, RemoteName: c.remoteName,
		StreamsStarted: st.Started, StreamsSucceeded: st.Succeeded, StreamsFailed: st.Failed,
		MessagesSent: st.Sent, MessagesReceived: st.Received,
		KeepAlivesSent: st.KeepalivesSent, LastMessageSent: st.LastSent, LastMessageReceived: st.LastReceived,
		LocalFlowControlWindow: int64(st.SendWindow), RemoteFlowControlWindow: int64(st.RecvWindow),
		LastError: st.LastError, LastErrorAt: st.LastErrorAt,
		System: c.conn.System(),
		Options: []channelz.SocketOption{
			{Name: channelz.OptionParked, Value: strconv.FormatBool(st.Parked)},
			{Name: channelz.OptionStreams, Value: strconv.Itoa(st.Streams)},
			{Name: channelz.OptionBytesHeld, Value: strconv.Itoa(st.Held)},
		},
	}
	if why := c.conn.WhyNot(); why != "" {
		d.Options = append(d.Options, channelz.SocketOption{Name: channelz.OptionNotParked, Value: why})
	}
	if _, client := c.conn.(*Client); client {
		d.LastLocalStreamCreated = st.LastStream
	} else {
		d.LastRemoteStreamCreated = st.LastStream
	}
	if info, ok := p.AuthInfo.(credentials.ChannelzSecurityInfo); ok {
		d.Security = info.GetSecurityValue()
	}
	return d
}
