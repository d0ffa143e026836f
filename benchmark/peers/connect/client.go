// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"net/http"

	"connectrpc.com/connect"

	"google.golang.org/grpc/benchmark/benchpb"
	"google.golang.org/grpc/benchmark/internal/certs"
	"google.golang.org/grpc/benchmark/internal/ops"
	"google.golang.org/grpc/benchmark/internal/peer"
)

// client is a connection's: each has a transport of its own.
type client struct {
	echo, chat *connect.Client[benchpb.Message, benchpb.Message]
	pull       *connect.Client[benchpb.PullRequest, benchpb.Message]
	push       *connect.Client[benchpb.Message, benchpb.PushSummary]
}

func dial(addr string, order ops.Open) (peer.Client, error) {
	secure := order.Security == ops.TLS
	transport, base := &http.Transport{Protocols: protocols(secure)}, "http://"+addr
	if secure {
		config, err := certs.Client(order.RootPEM)
		if err != nil {
			return nil, err
		}
		transport.TLSClientConfig, base = config, "https://"+addr
	}
	hc, grpc := &http.Client{Transport: transport}, connect.WithGRPC()
	return &client{
		echo: connect.NewClient[benchpb.Message, benchpb.Message](hc, base+echo, grpc),
		chat: connect.NewClient[benchpb.Message, benchpb.Message](hc, base+chat, grpc),
		pull: connect.NewClient[benchpb.PullRequest, benchpb.Message](hc, base+pull, grpc),
		push: connect.NewClient[benchpb.Message, benchpb.PushSummary](hc, base+push, grpc),
	}, nil
}

func (c *client) Echo(ctx context.Context, m *benchpb.Message) (*benchpb.Message, error) {
	answer, err := c.echo.CallUnary(ctx, connect.NewRequest(m))
	if err != nil {
		return nil, err
	}
	return answer.Msg, nil
}

func (c *client) Chat(ctx context.Context) (peer.Talk, error) {
	return clientTalk{c.chat.CallBidiStream(ctx)}, nil
}

func (c *client) Pull(ctx context.Context, r *benchpb.PullRequest) (peer.Source, error) {
	s, err := c.pull.CallServerStream(ctx, connect.NewRequest(r))
	return clientSource{s}, err
}

func (c *client) Push(ctx context.Context) (peer.Sink, error) {
	return c.push.CallClientStream(ctx), nil
}

type clientTalk struct {
	*connect.BidiStreamForClient[benchpb.Message, benchpb.Message]
}

func (t clientTalk) Recv() (*benchpb.Message, error) { return t.Receive() }

type clientSource struct {
	*connect.ServerStreamForClient[benchpb.Message]
}

func (s clientSource) Recv() (*benchpb.Message, error) {
	if !s.Receive() {
		return nil, errors.Join(errors.New("the stream has ended"), s.Err())
	}
	return s.Msg(), nil
}
