// SPDX-License-Identifier: Apache-2.0

package traffic

import (
	"context"
	"io"
	"math/rand/v2"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	methodEcho  = "/stress.Stress/Echo"
	methodFlaky = "/stress.Stress/Flaky"
	methodChat  = "/stress.Stress/Chat"
	methodPull  = "/stress.Stress/Pull"
)

// retries is the service config of all channels: Flaky fails often.
const retries = `{"methodConfig":[{"name":[{"service":"stress.Stress","method":"Flaky"}],"retryPolicy":{
	"maxAttempts":5,"initialBackoff":"0.001s","maxBackoff":"0.01s","backoffMultiplier":2,"retryableStatusCodes":["UNAVAILABLE"]}}]}`

var service = grpc.ServiceDesc{
	ServiceName: "stress.Stress",
	HandlerType: (*any)(nil),
	Methods: []grpc.MethodDesc{
		{MethodName: "Echo", Handler: unary(0)},
		{MethodName: "Flaky", Handler: unary(4)},
	},
	Streams: []grpc.StreamDesc{
		{StreamName: "Chat", Handler: chat, ServerStreams: true, ClientStreams: true},
		{StreamName: "Pull", Handler: pull, ServerStreams: true, ClientStreams: true},
	},
}

// unary answers with what it got; one call in fail fails, none if that is 0.
func unary(fail int) grpc.MethodHandler {
	return func(_ any, _ context.Context, dec func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
		in := &message{}
		if err := dec(in); err != nil {
			return nil, err
		}
		if err := check(in); err != nil {
			return nil, status.Error(codes.DataLoss, err.Error())
		}
		if fail > 0 && rand.N(fail) == 0 {
			return nil, status.Error(codes.Unavailable, "flaky")
		}
		return in, nil
	}
}

// chat answers each message with itself.
func chat(_ any, stream grpc.ServerStream) error {
	for {
		in := &message{}
		if err := stream.RecvMsg(in); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if err := check(in); err != nil {
			return status.Error(codes.DataLoss, err.Error())
		}
		if err := stream.SendMsg(in); err != nil {
			return err
		}
	}
}

// pull answers the first message with a few others.
func pull(_ any, stream grpc.ServerStream) error {
	in := &message{}
	if err := stream.RecvMsg(in); err != nil {
		return err
	}
	for range rand.N(20) {
		if err := stream.SendMsg(payload()); err != nil {
			return err
		}
	}
	return nil
}
