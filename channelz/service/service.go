// SPDX-License-Identifier: Apache-2.0

// Package service is the channelz service (gRFC A14), which shows the channels, servers
// and sockets of a process to tools such as grpcdebug.
//
// This module keeps records only in programs that import this package or experimental/debugpage,
// and only of what is created after the import.
//
// On Linux the data of a socket has the options SO_LINGER, SO_RCVTIMEO, SO_SNDTIMEO and
// TCP_INFO. The data of a connection also has options that are not in the gRFC, which show
// what an idle connection costs:
//
//	grpc.parked        "true" while the connection is idle and has neither a goroutine nor
//	                   a buffer
//	grpc.not_parkable  why the connection keeps a goroutine while it is idle; absent if it
//	                   does not. Package experimental/footprint has the list of reasons
//	grpc.streams_open  how many streams are open
//	grpc.bytes_held    the bytes of memory that the connection holds for what its peer sent
//	                   (messages that are incomplete or that the application has not taken
//	                   yet, headers, calls until their handlers return, parts of TLS and
//	                   ALTS records) and for what waits to be sent; plus the read buffer of
//	                   a connection that keeps one (because it is not a socket, or because
//	                   pooling is switched off)
//
// grpc.bytes_held does not count bytes that are being read or written at the moment. Package
// experimental has options that bound it, and experimental/footprint has figures for the
// whole process.
package service

import (
	"context"
	"math"
	"strings"

	"google.golang.org/grpc"
	channelzpb "google.golang.org/grpc/channelz/grpc_channelz_v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/internal/channelz"
	"google.golang.org/grpc/status"
)

func init() { channelz.TurnOn() }

// RegisterChannelzServiceToServer adds the channelz service to a server. Every client of the
// server can then read all of the process's records, including addresses.
func RegisterChannelzServiceToServer(s grpc.ServiceRegistrar) {
	channelzpb.RegisterChannelzServer(s, server{})
}

// server answers from the registry of internal/channelz.
type server struct {
	channelzpb.UnimplementedChannelzServer
}

func (server) GetTopChannels(_ context.Context, req *channelzpb.GetTopChannelsRequest) (*channelzpb.GetTopChannelsResponse, error) {
	p, err := page(req.GetStartChannelId(), req.GetMaxResults())
	if err != nil {
		return nil, err
	}
	list, last := channelz.TopChannels(p)
	return &channelzpb.GetTopChannelsResponse{Channel: each(list, channelOf), End: last}, nil
}

func (server) GetServers(_ context.Context, req *channelzpb.GetServersRequest) (*channelzpb.GetServersResponse, error) {
	p, err := page(req.GetStartServerId(), req.GetMaxResults())
	if err != nil {
		return nil, err
	}
	list, last := channelz.Servers(p)
	return &channelzpb.GetServersResponse{Server: each(list, serverOf), End: last}, nil
}

func (server) GetServerSockets(_ context.Context, req *channelzpb.GetServerSocketsRequest) (*channelzpb.GetServerSocketsResponse, error) {
	p, err := page(req.GetStartSocketId(), req.GetMaxResults())
	if err != nil {
		return nil, err
	}
	list, last := channelz.ServerSockets(req.GetServerId(), p)
	return &channelzpb.GetServerSocketsResponse{SocketRef: each(list, socketRefOf), End: last}, nil
}

func (server) GetServer(_ context.Context, req *channelzpb.GetServerRequest) (*channelzpb.GetServerResponse, error) {
	d, ok := channelz.NodeByID(channelz.Server, req.GetServerId())
	if !ok {
		return nil, notFound(channelz.Server, req.GetServerId())
	}
	return &channelzpb.GetServerResponse{Server: serverOf(d)}, nil
}

func (server) GetChannel(_ context.Context, req *channelzpb.GetChannelRequest) (*channelzpb.GetChannelResponse, error) {
	d, ok := channelz.NodeByID(channelz.Channel, req.GetChannelId())
	if !ok {
		return nil, notFound(channelz.Channel, req.GetChannelId())
	}
	return &channelzpb.GetChannelResponse{Channel: channelOf(d)}, nil
}

func (server) GetSubchannel(_ context.Context, req *channelzpb.GetSubchannelRequest) (*channelzpb.GetSubchannelResponse, error) {
	d, ok := channelz.NodeByID(channelz.Subchannel, req.GetSubchannelId())
	if !ok {
		return nil, notFound(channelz.Subchannel, req.GetSubchannelId())
	}
	return &channelzpb.GetSubchannelResponse{Subchannel: subchannelOf(d)}, nil
}

func (server) GetSocket(_ context.Context, req *channelzpb.GetSocketRequest) (*channelzpb.GetSocketResponse, error) {
	s := channelz.SocketByID(req.GetSocketId())
	if s == nil {
		return nil, notFound(channelz.Connection, req.GetSocketId())
	}
	return &channelzpb.GetSocketResponse{Socket: socketOf(s.Ref(), s.Data())}, nil
}

// page returns the Page of a request. It fails if limit is negative: channelz.proto says
// "must never be negative".
func page(from, limit int64) (channelz.Page, error) {
	if limit < 0 {
		return channelz.Page{}, status.Errorf(codes.InvalidArgument, "channelz: max_results is %d, but must not be negative", limit)
	}
	return channelz.Page{From: from, Limit: int(min(limit, math.MaxInt32))}, nil
}

func notFound(kind channelz.Kind, id int64) error {
	name := strings.ToLower(kind.String())
	if kind == channelz.Subchannel {
		name = "sub channel"
	}
	return status.Errorf(codes.NotFound, "requested %s %d not found", name, id)
}
