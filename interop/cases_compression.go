// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"context"
	"fmt"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	testpb "google.golang.org/grpc/interop/grpc_testing"
)

// compressWith returns the call option for requests that are, or are not, compressed. Every
// call in this file has it, so that the channel's default has no effect.
func compressWith(compressed bool) grpc.CallOption {
	return grpc.UseCompressor(encodingFor(compressed))
}

func clientCompressedUnary(ctx context.Context, c *Client) error {
	req := largeCall()
	req.ExpectCompressed = boolean(true)
	_, err := c.test.UnaryCall(ctx, req, compressWith(false))
	if err := checkCode(err, codes.InvalidArgument); err != nil {
		return fmt.Errorf("probe: %w", err)
	}
	for _, compressed := range []bool{true, false} {
		req := largeCall()
		req.ExpectCompressed = boolean(compressed)
		reply, err := c.test.UnaryCall(ctx, req, compressWith(compressed))
		if err != nil {
			return fmt.Errorf("compressed %v: %w", compressed, err)
		}
		if err := checkPayload(reply.GetPayload(), largeResponse); err != nil {
			return fmt.Errorf("compressed %v: %w", compressed, err)
		}
	}
	return nil
}

func serverCompressedUnary(ctx context.Context, c *Client) error {
	for _, compressed := range []bool{true, false} {
		ctx, seen := recordReceived(ctx)
		req := largeCall()
		req.ResponseCompressed = boolean(compressed)
		reply, err := c.test.UnaryCall(ctx, req, compressWith(false))
		if err != nil {
			return fmt.Errorf("compressed %v: %w", compressed, err)
		}
		if err := checkPayload(reply.GetPayload(), largeResponse); err != nil {
			return fmt.Errorf("compressed %v: %w", compressed, err)
		}
		if err := checkFlags(seen, compressed); err != nil {
			return err
		}
	}
	return nil
}

// checkFlags requires that the compressed flags of the received messages are exactly want.
func checkFlags(seen *received, want ...bool) error {
	if got := seen.all(); !slices.Equal(got, want) {
		return fmt.Errorf("compressed flags of the responses: %v, want %v", got, want)
	}
	return nil
}

func clientCompressedStreaming(ctx context.Context, c *Client) error {
	first := &testpb.StreamingInputCallRequest{ExpectCompressed: boolean(true), Payload: zeros(27182)}
	second := &testpb.StreamingInputCallRequest{ExpectCompressed: boolean(false), Payload: zeros(45904)}

	probe, err := c.test.StreamingInputCall(ctx, compressWith(false))
	if err != nil {
		return err
	}
	// A stream with a compressor compresses all messages that it encodes. The message that
	// must be uncompressed on such a stream is therefore encoded for this stream, which has
	// no compressor.
	var plain grpc.PreparedMsg
	if err := plain.Encode(probe, second); err != nil {
		return err
	}
	if err := probe.Send(first); err != nil {
		return err
	}
	_, err = probe.CloseAndRecv()
	if err := checkCode(err, codes.InvalidArgument); err != nil {
		return fmt.Errorf("probe: %w", err)
	}

	stream, err := c.test.StreamingInputCall(ctx, compressWith(true))
	if err != nil {
		return err
	}
	if err := stream.Send(first); err != nil {
		return err
	}
	if err := stream.SendMsg(&plain); err != nil {
		return err
	}
	reply, err := stream.CloseAndRecv()
	if err != nil {
		return err
	}
	if got, want := int(reply.GetAggregatedPayloadSize()), 27182+45904; got != want {
		return fmt.Errorf("aggregated size %d, want %d", got, want)
	}
	return nil
}

func serverCompressedStreaming(ctx context.Context, c *Client) error {
	sizes := []int{31415, 92653}
	req := outputRequest(sizes...)
	req.ResponseParameters[0].Compressed = boolean(true)
	req.ResponseParameters[1].Compressed = boolean(false)

	ctx, seen := recordReceived(ctx)
	stream, err := c.test.StreamingOutputCall(ctx, req, compressWith(false))
	if err != nil {
		return err
	}
	for i, want := range sizes {
		reply, err := stream.Recv()
		if err != nil {
			return fmt.Errorf("response %d: %w", i, err)
		}
		if err := checkPayload(reply.GetPayload(), want); err != nil {
			return fmt.Errorf("response %d: %w", i, err)
		}
	}
	if err := checkEnd(stream.Recv); err != nil {
		return err
	}
	return checkFlags(seen, true, false)
}
