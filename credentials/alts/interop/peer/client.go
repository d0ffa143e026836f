// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/alts"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/peer"
)

func runCases(ctx context.Context, client testpb.TestServiceClient) error {
	for _, n := range []int{0, 1, 1000, 1 << 20, 64 << 20} {
		if err := unary(ctx, client, n); err != nil {
			return fmt.Errorf("unary, %d bytes: %w", n, err)
		}
	}
	if err := pingPong(ctx, client); err != nil {
		return fmt.Errorf("stream: %w", err)
	}
	return nil
}

func unary(ctx context.Context, client testpb.TestServiceClient, n int) error {
	body := noise(n)
	var p peer.Peer
	resp, err := client.UnaryCall(ctx, &testpb.SimpleRequest{Payload: &testpb.Payload{Body: body}}, grpc.Peer(&p), grpc.WaitForReady(true))
	if err != nil {
		return err
	}
	info, err := alts.AuthInfoFromPeer(&p)
	if err != nil {
		return err
	}
	switch {
	case !bytes.Equal(resp.GetPayload().GetBody(), body):
		return errors.New("the message came back changed")
	case resp.GetUsername() == "" || resp.GetUsername() != info.LocalServiceAccount() || info.PeerServiceAccount() == "":
		return fmt.Errorf("the server takes us for %q; here %q to %q", resp.GetUsername(), info.LocalServiceAccount(), info.PeerServiceAccount())
	}
	return nil
}

func pingPong(ctx context.Context, client testpb.TestServiceClient) error {
	stream, err := client.FullDuplexCall(ctx)
	if err != nil {
		return err
	}
	for _, n := range []int{0, 1, 4072, 4073, 16360, 100_000, 1 << 20, 10, 3 << 20, 0} {
		body := noise(n)
		if err := stream.Send(&testpb.StreamingOutputCallRequest{Payload: &testpb.Payload{Body: body}}); err != nil {
			return err
		}
		resp, err := stream.Recv()
		if err != nil {
			return err
		}
		if !bytes.Equal(resp.GetPayload().GetBody(), body) {
			return fmt.Errorf("%d bytes came back changed", n)
		}
	}
	if err := stream.CloseSend(); err != nil {
		return err
	}
	if _, err := stream.Recv(); err != io.EOF {
		return fmt.Errorf("at the end: %w", err)
	}
	return nil
}

func noise(n int) []byte {
	b := make([]byte, n)
	src := rand.NewChaCha8([32]byte{byte(n)})
	_, _ = src.Read(b) // never fails
	return b
}

// measure receives messages of 1 MiB for d. It prints how many bytes arrived per second, and
// how many arrived in all.
func measure(ctx context.Context, client testpb.TestServiceClient, d time.Duration) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	const size = 1 << 20
	stream, err := client.StreamingOutputCall(ctx, &testpb.StreamingOutputCallRequest{
		ResponseParameters: []*testpb.ResponseParameters{{Size: size}},
	}, grpc.WaitForReady(true))
	if err != nil {
		return err
	}
	const warm = 200 // after so many messages the flow control windows have grown
	for range warm {
		if _, err := stream.Recv(); err != nil {
			return err
		}
	}
	n := 0
	begin := time.Now()
	for time.Since(begin) < d {
		if _, err := stream.Recv(); err != nil {
			return err
		}
		n++
	}
	fmt.Println(float64(n*size)/time.Since(begin).Seconds(), (warm+n)*size)
	return nil
}
