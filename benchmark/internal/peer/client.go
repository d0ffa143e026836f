// SPDX-License-Identifier: Apache-2.0

package peer

import (
	"context"
	"errors"

	"google.golang.org/grpc"
	"google.golang.org/grpc/benchmark/benchpb"
)

// Client is one connection's client of the service.
type Client interface {
	Echo(ctx context.Context, m *benchpb.Message) (*benchpb.Message, error)
	Chat(ctx context.Context) (Talk, error)
	Pull(ctx context.Context, r *benchpb.PullRequest) (Source, error)
	Push(ctx context.Context) (Sink, error)
}

// generated has the form of the generated client, which is what loads call. Nothing stands
// between them but the calls of these methods.
type generated struct{ Client }

func (g generated) Echo(ctx context.Context, m *benchpb.Message, _ ...grpc.CallOption) (*benchpb.Message, error) {
	return g.Client.Echo(ctx, m)
}

func (g generated) Chat(ctx context.Context, _ ...grpc.CallOption) (benchpb.Bench_ChatClient, error) {
	talk, err := g.Client.Chat(ctx)
	if err != nil {
		return nil, err
	}
	return clientTalk{Talk: talk}, nil
}

func (g generated) Pull(ctx context.Context, r *benchpb.PullRequest, _ ...grpc.CallOption) (benchpb.Bench_PullClient, error) {
	source, err := g.Client.Pull(ctx, r)
	if err != nil {
		return nil, err
	}
	return clientSource{Source: source}, nil
}

func (g generated) Push(ctx context.Context, _ ...grpc.CallOption) (benchpb.Bench_PushClient, error) {
	sink, err := g.Client.Push(ctx)
	if err != nil {
		return nil, err
	}
	return clientSink{Sink: sink}, nil
}

func (generated) Watch(context.Context, *benchpb.WatchRequest, ...grpc.CallOption) (benchpb.Bench_WatchClient, error) {
	return nil, errors.ErrUnsupported
}

func (generated) Publish(context.Context, *benchpb.State, ...grpc.CallOption) (*benchpb.PublishSummary, error) {
	return nil, errors.ErrUnsupported
}

// What the embedded interfaces would add is not called.
type clientTalk struct {
	grpc.ClientStream
	Talk
}

type clientSource struct {
	grpc.ClientStream
	Source
}

type clientSink struct {
	grpc.ClientStream
	Sink
}

// CloseAndRecv is for streams that end well, as no load's does.
func (clientSink) CloseAndRecv() (*benchpb.PushSummary, error) { return nil, errors.ErrUnsupported }
