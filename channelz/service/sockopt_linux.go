// SPDX-License-Identifier: Apache-2.0

package service

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	channelzpb "google.golang.org/grpc/channelz/grpc_channelz_v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
)

// systemOptions returns the options that the operating system has for a socket. It leaves out
// those that the system does not return: TCP_INFO of a socket that is not TCP, and all options
// of a closed socket.
func systemOptions(rc syscall.RawConn) []*channelzpb.SocketOption {
	if rc == nil {
		return nil
	}
	var out []*channelzpb.SocketOption
	add := func(name string, value proto.Message, err error) {
		if err != nil {
			return
		}
		if packed, err := anypb.New(value); err == nil {
			out = append(out, &channelzpb.SocketOption{Name: name, Additional: packed})
		}
	}
	_ = rc.Control(func(fd uintptr) { // it fails if the socket is closed
		linger, err := lingerOf(int(fd))
		add("SO_LINGER", linger, err)
		timeout, err := timeoutOf(int(fd), unix.SO_RCVTIMEO)
		add("SO_RCVTIMEO", timeout, err)
		timeout, err = timeoutOf(int(fd), unix.SO_SNDTIMEO)
		add("SO_SNDTIMEO", timeout, err)
		info, err := tcpInfoOf(int(fd))
		add("TCP_INFO", info, err)
	})
	return out
}

func lingerOf(fd int) (*channelzpb.SocketOptionLinger, error) {
	l, err := unix.GetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER)
	if err != nil {
		return nil, err
	}
	return &channelzpb.SocketOptionLinger{
		Active:   l.Onoff != 0,
		Duration: durationpb.New(time.Duration(l.Linger) * time.Second),
	}, nil
}

func timeoutOf(fd, option int) (*channelzpb.SocketOptionTimeout, error) {
	t, err := unix.GetsockoptTimeval(fd, unix.SOL_SOCKET, option)
	if err != nil {
		return nil, err
	}
	return &channelzpb.SocketOptionTimeout{Duration: durationpb.New(time.Duration(t.Nano()))}, nil
}

// tcpInfoOf returns the socket's TCP_INFO, without the window scales, which package unix does
// not have.
func tcpInfoOf(fd int) (*channelzpb.SocketOptionTcpInfo, error) {
	i, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil {
		return nil, err
	}
	return &channelzpb.SocketOptionTcpInfo{
		TcpiState:        uint32(i.State),
		TcpiCaState:      uint32(i.Ca_state),
		TcpiRetransmits:  uint32(i.Retransmits),
		TcpiProbes:       uint32(i.Probes),
		TcpiBackoff:      uint32(i.Backoff),
		TcpiOptions:      uint32(i.Options),
		TcpiRto:          i.Rto,
		TcpiAto:          i.Ato,
		TcpiSndMss:       i.Snd_mss,
		TcpiRcvMss:       i.Rcv_mss,
		TcpiUnacked:      i.Unacked,
		TcpiSacked:       i.Sacked,
		TcpiLost:         i.Lost,
		TcpiRetrans:      i.Retrans,
		TcpiFackets:      i.Fackets,
		TcpiLastDataSent: i.Last_data_sent,
		TcpiLastAckSent:  i.Last_ack_sent,
		TcpiLastDataRecv: i.Last_data_recv,
		TcpiLastAckRecv:  i.Last_ack_recv,
		TcpiPmtu:         i.Pmtu,
		TcpiRcvSsthresh:  i.Rcv_ssthresh,
		TcpiRtt:          i.Rtt,
		TcpiRttvar:       i.Rttvar,
		TcpiSndSsthresh:  i.Snd_ssthresh,
		TcpiSndCwnd:      i.Snd_cwnd,
		TcpiAdvmss:       i.Advmss,
		TcpiReordering:   i.Reordering,
	}, nil
}
