// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"context"
	"fmt"
	"io"

	"google.golang.org/grpc/benchmark/benchpb"
	"google.golang.org/grpc/benchmark/internal/link"
	"google.golang.org/grpc/benchmark/internal/load"
	"google.golang.org/grpc/benchmark/internal/ops"
	"google.golang.org/grpc/benchmark/internal/service"
)

// step waits for what is counted as one.
type step func() error

// overGRPC makes steps of calls and streams.
func overGRPC(targets load.Targets) func(context.Context, string, int, int) (step, error) {
	return func(ctx context.Context, kind string, size, i int) (step, error) {
		client := targets.Clients[i%len(targets.Clients)]
		switch kind {
		case ops.Pull:
			stream, err := client.Pull(ctx, &benchpb.PullRequest{Size: uint32(size)})
			return func() error {
				_, err := stream.Recv()
				return err
			}, err
		case ops.Push:
			stream, err := client.Push(ctx)
			message := &benchpb.Message{Payload: service.Payload(size)}
			return func() error { return stream.Send(message) }, err
		case ops.Unary:
			request := &benchpb.Message{Payload: service.Payload(link.RawRequest), AnswerSize: uint32(size)}
			return func() error {
				answer, err := client.Echo(ctx, request)
				if err == nil && len(answer.GetPayload()) != size {
					err = fmt.Errorf("an answer has %d bytes, want %d", len(answer.GetPayload()), size)
				}
				return err
			}, nil
		}
		return nil, fmt.Errorf("unknown kind of flow %q", kind)
	}
}

// overBytes makes steps that carry the same bytes, the i-th on the i-th connection.
func overBytes(targets load.Targets) func(context.Context, string, int, int) (step, error) {
	return func(ctx context.Context, kind string, size, i int) (step, error) {
		if i >= len(targets.Raws) {
			return nil, fmt.Errorf("there are %d raw connections, and %d callers", len(targets.Raws), i+1)
		}
		conn := targets.Raws[i]
		context.AfterFunc(ctx, func() { _ = conn.Close() })
		mode, ok := map[string]uint32{ops.Pull: link.RawStream, ops.Push: link.RawSink, ops.Unary: link.RawReply}[kind]
		if !ok {
			return nil, fmt.Errorf("unknown kind of flow %q", kind)
		}
		if _, err := conn.Write(link.RawHeader{Size: uint32(size), Mode: mode}.Bytes()); err != nil {
			return nil, err
		}
		buf := make([]byte, size)
		request := make([]byte, link.RawRequest)
		return func() error {
			switch kind {
			case ops.Push:
				_, err := conn.Write(buf)
				return err
			case ops.Unary:
				if _, err := conn.Write(request); err != nil {
					return err
				}
			}
			_, err := io.ReadFull(conn, buf)
			return err
		}, nil
	}
}
