// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/cloudwego/kitex/pkg/serviceinfo"
	"github.com/cloudwego/kitex/pkg/streaming"
	"google.golang.org/protobuf/proto"

	"google.golang.org/grpc/benchmark/benchpb"
	"google.golang.org/grpc/benchmark/internal/peer"
	"google.golang.org/grpc/benchmark/internal/service"
)

// The names of the service's methods.
const (
	echo = "Echo"
	chat = "Chat"
	pull = "Pull"
	push = "Push"
)

// info describes the service to Kitex, as what its tool generates does. The messages are those
// of all other implementations in Go.
func info() *serviceinfo.ServiceInfo {
	streams := func(h serviceinfo.MethodHandler, m serviceinfo.StreamingMode) serviceinfo.MethodInfo {
		return serviceinfo.NewMethodInfo(h, nothing, nothing, false, serviceinfo.WithStreamingMode(m))
	}
	return &serviceinfo.ServiceInfo{
		ServiceName: "Bench",
		HandlerType: (*benchpb.BenchServer)(nil),
		Methods: map[string]serviceinfo.MethodInfo{
			echo: serviceinfo.NewMethodInfo(handleEcho, func() any { return &request{} }, func() any { return &answer{} }, false,
				serviceinfo.WithStreamingMode(serviceinfo.StreamingUnary)),
			chat: streams(handleChat, serviceinfo.StreamingBidirectional),
			pull: streams(handlePull, serviceinfo.StreamingServer),
			push: streams(handlePush, serviceinfo.StreamingClient),
		},
		PayloadCodec: serviceinfo.Protobuf,
		Extra:        map[string]any{"PackageName": "grpc.benchmark", "streaming": true},
	}
}

func nothing() any { return nil }

func handleEcho(ctx context.Context, handler, arg, result any) error {
	b := handler.(*service.Bench)
	switch a := arg.(type) {
	case *streaming.Args:
		req := &benchpb.Message{}
		if err := a.Stream.RecvMsg(req); err != nil {
			return err
		}
		m, err := b.Echo(ctx, req)
		if err != nil {
			return err
		}
		return a.Stream.SendMsg(m)
	case *request:
		m, err := b.Echo(ctx, a.message)
		result.(*answer).message = m
		return err
	}
	return errors.New("the arguments are of an unknown type")
}

func handleChat(_ context.Context, handler, arg, _ any) error {
	return peer.Chat(handler.(*service.Bench), talk{arg.(*streaming.Args).Stream})
}

func handlePull(_ context.Context, handler, arg, _ any) error {
	s := arg.(*streaming.Args).Stream
	req := &benchpb.PullRequest{}
	if err := s.RecvMsg(req); err != nil {
		return err
	}
	return peer.Pull(handler.(*service.Bench), req, talk{s})
}

func handlePush(_ context.Context, handler, arg, _ any) error {
	s := arg.(*streaming.Args).Stream
	answer, err := peer.Push(handler.(*service.Bench), talk{s})
	if err != nil {
		return err
	}
	return s.SendMsg(answer)
}

// talk is either end of a stream.
type talk struct{ streaming.Stream }

func (t talk) Send(m *benchpb.Message) error { return t.SendMsg(m) }

func (t talk) Recv() (*benchpb.Message, error) {
	m := &benchpb.Message{}
	return m, t.RecvMsg(m)
}

// request has the arguments of a call, and answer its result, in the form that Kitex wants.
type request struct{ message *benchpb.Message }

func (r *request) Marshal([]byte) ([]byte, error) { return proto.Marshal(r.message) }
func (r *request) GetFirstArgument() any          { return r.message }

func (r *request) Unmarshal(b []byte) (err error) {
	r.message, err = decode(b)
	return err
}

type answer struct{ message *benchpb.Message }

func (a *answer) Marshal([]byte) ([]byte, error) { return proto.Marshal(a.message) }
func (a *answer) GetResult() any                 { return a.message }
func (a *answer) SetSuccess(m any)               { a.message = m.(*benchpb.Message) }

func (a *answer) Unmarshal(b []byte) (err error) {
	a.message, err = decode(b)
	return err
}

func decode(b []byte) (*benchpb.Message, error) {
	m := &benchpb.Message{}
	if err := proto.Unmarshal(b, m); err != nil {
		return nil, fmt.Errorf("decoding a message: %w", err)
	}
	return m, nil
}
