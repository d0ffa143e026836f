// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"context"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc/codes"
	testpb "google.golang.org/grpc/interop/grpc_testing"
)

// outputRequest returns a request for one response of each size.
func outputRequest(sizes ...int) *testpb.StreamingOutputCallRequest {
	req := &testpb.StreamingOutputCallRequest{}
	for _, n := range sizes {
		req.ResponseParameters = append(req.ResponseParameters, &testpb.ResponseParameters{Size: int32(n)})
	}
	return req
}

func clientStreaming(ctx context.Context, c *Client) error {
	stream, err := c.test.StreamingInputCall(ctx)
	if err != nil {
		return err
	}
	want := 0
	for _, n := range requestSizes {
		if err := stream.Send(&testpb.StreamingInputCallRequest{Payload: zeros(n)}); err != nil {
			return err
		}
		want += n
	}
	reply, err := stream.CloseAndRecv()
	if err != nil {
		return err
	}
	if got := int(reply.GetAggregatedPayloadSize()); got != want {
		return fmt.Errorf("aggregated size %d, want %d", got, want)
	}
	return nil
}

func serverStreaming(ctx context.Context, c *Client) error {
	stream, err := c.test.StreamingOutputCall(ctx, outputRequest(responseSizes...))
	if err != nil {
		return err
	}
	for i, want := range responseSizes {
		reply, err := stream.Recv()
		if err != nil {
			return fmt.Errorf("response %d: %w", i, err)
		}
		if err := checkPayload(reply.GetPayload(), want); err != nil {
			return fmt.Errorf("response %d: %w", i, err)
		}
	}
	return checkEnd(stream.Recv)
}

func pingPong(ctx context.Context, c *Client) error {
	stream, err := c.test.FullDuplexCall(ctx)
	if err != nil {
		return err
	}
	for i, want := range responseSizes {
		if err := exchange(stream, requestSizes[i], want); err != nil {
			return fmt.Errorf("exchange %d: %w", i, err)
		}
	}
	if err := stream.CloseSend(); err != nil {
		return err
	}
	return checkEnd(stream.Recv)
}

// exchange sends a request for one response on the stream, and receives that response.
func exchange(stream testpb.TestService_FullDuplexCallClient, reqSize, respSize int) error {
	req := outputRequest(respSize)
	req.Payload = zeros(reqSize)
	if err := stream.Send(req); err != nil {
		return err
	}
	reply, err := stream.Recv()
	if err != nil {
		return err
	}
	return checkPayload(reply.GetPayload(), respSize)
}

func emptyStream(ctx context.Context, c *Client) error {
	stream, err := c.test.FullDuplexCall(ctx)
	if err != nil {
		return err
	}
	if err := stream.CloseSend(); err != nil {
		return err
	}
	return checkEnd(stream.Recv)
}

func cancelAfterBegin(ctx context.Context, c *Client) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.test.StreamingInputCall(ctx)
	if err != nil {
		return err
	}
	cancel()
	// Without a half-close the server sends no response. CloseAndRecv would send a
	// half-close, and some clients then return the response if it comes before they look at
	// the cancellation.
	return checkCode(stream.RecvMsg(new(testpb.StreamingInputCallResponse)), codes.Canceled)
}

func cancelAfterFirstResponse(ctx context.Context, c *Client) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.test.FullDuplexCall(ctx)
	if err != nil {
		return err
	}
	if err := exchange(stream, requestSizes[0], responseSizes[0]); err != nil {
		return err
	}
	cancel()
	_, err = stream.Recv()
	return checkCode(err, codes.Canceled)
}

func timeoutOnSleepingServer(ctx context.Context, c *Client) error {
	ctx, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	stream, err := c.test.FullDuplexCall(ctx)
	if err != nil {
		// A millisecond can pass before there is a stream.
		return checkCode(err, codes.DeadlineExceeded)
	}
	// The request asks for no response and there is no half-close, so the server sends
	// nothing. If the deadline passes during Send, Send returns io.EOF and Recv returns
	// the status.
	if err := stream.Send(&testpb.StreamingOutputCallRequest{Payload: zeros(requestSizes[0])}); err != nil && err != io.EOF {
		return checkCode(err, codes.DeadlineExceeded)
	}
	_, err = stream.Recv()
	return checkCode(err, codes.DeadlineExceeded)
}
