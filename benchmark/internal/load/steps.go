// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"google.golang.org/grpc/benchmark/benchpb"
	"google.golang.org/grpc/benchmark/internal/link"
	"google.golang.org/grpc/benchmark/internal/ops"
	"google.golang.org/grpc/benchmark/internal/service"
)

// Targets are the connections that carry a load: those with gRPC or those without.
type Targets struct {
	Clients []benchpb.BenchClient
	Raws    []net.Conn
}

// newStep prepares what the i-th caller does again and again until ctx ends.
func newStep(ctx context.Context, targets Targets, args ops.Load, i int) (step, error) {
	switch args.Kind {
	case ops.PingPong, ops.Stream:
		if len(targets.Raws) == 0 {
			return nil, errors.New("there is no raw connection")
		}
		return rawStep(ctx, targets, args, i)
	}
	if len(targets.Clients) == 0 {
		return nil, errors.New("there is no channel")
	}
	client := targets.Clients[i%len(targets.Clients)]
	switch args.Kind {
	case ops.Unary:
		return unaryStep(ctx, client, args.Size), nil
	case ops.Chat:
		return chatStep(ctx, client, args.Size)
	case ops.Pull:
		return pullStep(ctx, client, args.Size)
	case ops.Push:
		return pushStep(ctx, client, args.Size)
	}
	return nil, fmt.Errorf("unknown kind of load %q", args.Kind)
}

func request(size int) *benchpb.Message {
	return &benchpb.Message{Payload: service.Payload(size), AnswerSize: uint32(size)}
}

// want checks the size of an answer: a fast wrong answer must not look good.
func want(m *benchpb.Message, size int) error {
	if got := len(m.GetPayload()); got != size {
		return fmt.Errorf("a message has %d bytes, want %d", got, size)
	}
	return nil
}

// unaryStep calls without a deadline, and with a context that has nothing to cancel, so
// that what is counted is the call's own.
func unaryStep(ctx context.Context, client benchpb.BenchClient, size int) step {
	req := request(size)
	ctx = context.WithoutCancel(ctx)
	return func() error {
		answer, err := client.Echo(ctx, req)
		if err != nil {
			return err
		}
		return want(answer, size)
	}
}

func chatStep(ctx context.Context, client benchpb.BenchClient, size int) (step, error) {
	stream, err := client.Chat(ctx)
	if err != nil {
		return nil, err
	}
	req := request(size)
	return func() error {
		if err := stream.Send(req); err != nil {
			return err
		}
		answer, err := stream.Recv()
		if err != nil {
			return err
		}
		return want(answer, size)
	}, nil
}

func pullStep(ctx context.Context, client benchpb.BenchClient, size int) (step, error) {
	stream, err := client.Pull(ctx, &benchpb.PullRequest{Size: uint32(size)})
	if err != nil {
		return nil, err
	}
	return func() error {
		answer, err := stream.Recv()
		if err != nil {
			return err
		}
		return want(answer, size)
	}, nil
}

func pushStep(ctx context.Context, client benchpb.BenchClient, size int) (step, error) {
	stream, err := client.Push(ctx)
	if err != nil {
		return nil, err
	}
	req := request(size)
	return func() error { return stream.Send(req) }, nil
}

func rawStep(ctx context.Context, targets Targets, args ops.Load, i int) (step, error) {
	conn := targets.Raws[i%len(targets.Raws)]
	context.AfterFunc(ctx, func() { _ = conn.Close() })
	head := link.RawHeader{Size: uint32(args.Size)}
	if args.Kind == ops.Stream {
		head.Mode = link.RawStream
	}
	if _, err := conn.Write(head.Bytes()); err != nil {
		return nil, err
	}
	if args.Own {
		return ownStep(conn, args.Size), nil
	}
	buf := make([]byte, args.Size)
	return func() error {
		if args.Kind == ops.PingPong {
			if _, err := conn.Write(buf); err != nil {
				return err
			}
		}
		_, err := io.ReadFull(conn, buf)
		return err
	}, nil
}

// ownStep reads a message into memory of its own, as one that gRPC decodes is.
func ownStep(conn io.Reader, size int) step {
	chunk := make([]byte, 256<<10)
	return func() error {
		var m strings.Builder // allocates without clearing, as decoding does
		m.Grow(size)
		for m.Len() < size {
			n, err := conn.Read(chunk[:min(len(chunk), size-m.Len())])
			if err != nil {
				return err
			}
			m.Write(chunk[:n])
		}
		return nil
	}
}
