// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"

	kitex "github.com/cloudwego/kitex/client"
	"github.com/cloudwego/kitex/pkg/streaming"
	"github.com/cloudwego/kitex/transport"

	"google.golang.org/grpc/benchmark/benchpb"
	"google.golang.org/grpc/benchmark/internal/ops"
	"google.golang.org/grpc/benchmark/internal/peer"
)

// client is a connection's: its pool has room for one.
type client struct{ kitex.Client }

func dial(addr string, order ops.Open) (peer.Client, error) {
	if order.Security != ops.Insecure {
		return nil, errNoTLS
	}
	c, err := kitex.NewClient(info(),
		kitex.WithDestService("Bench"),
		kitex.WithTransportProtocol(transport.GRPC),
		kitex.WithHostPorts(addr),
		kitex.WithGRPCConnPoolSize(1),
	)
	return &client{c}, err
}

func (c *client) Echo(ctx context.Context, m *benchpb.Message) (*benchpb.Message, error) {
	result := answer{}
	err := c.Call(ctx, echo, &request{m}, &result)
	return result.message, err
}

func (c *client) Chat(ctx context.Context) (peer.Talk, error) {
	s, err := c.stream(ctx, chat)
	return talk{s}, err
}

func (c *client) Pull(ctx context.Context, r *benchpb.PullRequest) (peer.Source, error) {
	s, err := c.stream(ctx, pull)
	if err != nil {
		return nil, err
	}
	if err := s.SendMsg(r); err != nil {
		return nil, err
	}
	return talk{s}, s.Close()
}

func (c *client) Push(ctx context.Context) (peer.Sink, error) {
	s, err := c.stream(ctx, push)
	return talk{s}, err
}

func (c *client) stream(ctx context.Context, method string) (streaming.Stream, error) {
	streamer, ok := c.Client.(kitex.Streaming)
	if !ok {
		return nil, errors.New("the client has no streams")
	}
	result := &streaming.Result{}
	err := streamer.Stream(ctx, method, nil, result)
	return result.Stream, err
}
