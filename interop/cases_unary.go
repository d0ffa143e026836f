// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
)

func emptyUnary(ctx context.Context, c *Client) error {
	reply, err := c.test.EmptyCall(ctx, &testpb.Empty{})
	if err != nil {
		return err
	}
	if n := proto.Size(reply); n != 0 {
		return fmt.Errorf("reply of %d bytes, want 0", n)
	}
	return nil
}

func largeUnary(ctx context.Context, c *Client) error {
	reply, err := c.test.UnaryCall(ctx, largeCall())
	if err != nil {
		return err
	}
	return checkPayload(reply.GetPayload(), largeResponse)
}

// The values that the server echoes in the case custom_metadata.
const (
	echoInitialValue  = "test_initial_metadata_value"
	echoTrailingValue = "\xab\xab\xab"
)

func customMetadata(ctx context.Context, c *Client) error {
	ctx = metadata.AppendToOutgoingContext(ctx, echoInitialKey, echoInitialValue, echoTrailingKey, echoTrailingValue)
	var header, trailer metadata.MD
	reply, err := c.test.UnaryCall(ctx, largeCall(), grpc.Header(&header), grpc.Trailer(&trailer))
	if err != nil {
		return err
	}
	if err := checkPayload(reply.GetPayload(), largeResponse); err != nil {
		return err
	}
	if err := checkEcho(header, trailer); err != nil {
		return fmt.Errorf("unary: %w", err)
	}
	header, trailer, err = customMetadataStream(ctx, c)
	if err != nil {
		return fmt.Errorf("stream: %w", err)
	}
	if err := checkEcho(header, trailer); err != nil {
		return fmt.Errorf("stream: %w", err)
	}
	return nil
}

// customMetadataStream is the second half of the case custom_metadata. It returns the response's
// headers and trailers.
func customMetadataStream(ctx context.Context, c *Client) (header, trailer metadata.MD, err error) {
	stream, err := c.test.FullDuplexCall(ctx)
	if err != nil {
		return nil, nil, err
	}
	req := outputRequest(largeResponse)
	req.Payload = zeros(largeRequest)
	if err := stream.Send(req); err != nil {
		return nil, nil, err
	}
	if err := stream.CloseSend(); err != nil {
		return nil, nil, err
	}
	if header, err = stream.Header(); err != nil {
		return nil, nil, err
	}
	reply, err := stream.Recv()
	if err != nil {
		return nil, nil, err
	}
	if err := checkPayload(reply.GetPayload(), largeResponse); err != nil {
		return nil, nil, err
	}
	if err := checkEnd(stream.Recv); err != nil {
		return nil, nil, err
	}
	return header, stream.Trailer(), nil
}

func checkEcho(header, trailer metadata.MD) error {
	if got, want := header.Get(echoInitialKey), []string{echoInitialValue}; !slices.Equal(got, want) {
		return fmt.Errorf("header %s is %q, want %q", echoInitialKey, got, want)
	}
	if got, want := trailer.Get(echoTrailingKey), []string{echoTrailingValue}; !slices.Equal(got, want) {
		return fmt.Errorf("trailer %s is %q, want %q", echoTrailingKey, got, want)
	}
	if len(header.Get(echoTrailingKey)) != 0 || len(trailer.Get(echoInitialKey)) != 0 {
		return errors.New("a key came in the headers that belongs in the trailers, or the reverse")
	}
	return nil
}

func statusCodeAndMessage(ctx context.Context, c *Client) error {
	want := &testpb.EchoStatus{Code: int32(codes.Unknown), Message: "test status message"}
	_, err := c.test.UnaryCall(ctx, &testpb.SimpleRequest{ResponseStatus: want})
	if err := checkStatus(err, want); err != nil {
		return fmt.Errorf("unary: %w", err)
	}
	stream, err := c.test.FullDuplexCall(ctx)
	if err != nil {
		return err
	}
	if err := stream.Send(&testpb.StreamingOutputCallRequest{ResponseStatus: want}); err != nil {
		return err
	}
	if err := stream.CloseSend(); err != nil {
		return err
	}
	_, err = stream.Recv()
	if err := checkStatus(err, want); err != nil {
		return fmt.Errorf("stream: %w", err)
	}
	return nil
}

func specialStatusMessage(ctx context.Context, c *Client) error {
	want := &testpb.EchoStatus{
		Code:    int32(codes.Unknown),
		Message: "\t\ntest with whitespace\r\nand Unicode BMP \u263a and non-BMP \U0001f608\t\n",
	}
	_, err := c.test.UnaryCall(ctx, &testpb.SimpleRequest{ResponseStatus: want})
	return checkStatus(err, want)
}

func unimplementedMethod(ctx context.Context, c *Client) error {
	_, err := c.test.UnimplementedCall(ctx, &testpb.Empty{})
	return checkCode(err, codes.Unimplemented)
}

func unimplementedService(ctx context.Context, c *Client) error {
	_, err := c.unknown.UnimplementedCall(ctx, &testpb.Empty{})
	return checkCode(err, codes.Unimplemented)
}
