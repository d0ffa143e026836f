// SPDX-License-Identifier: Apache-2.0

//go:build !published

package victim

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/experimental/streams"
)

const hasHandOver = true

// handedOver are the streams of the service whose handlers hand them over: what they get is dropped,
// and some are sent a message again and again, as often as there is room.
var handedOver = []grpc.StreamDesc{
	{StreamName: "Deaf", Handler: handOver(nil), ServerStreams: true, ClientStreams: true},
	{StreamName: "Sink", Handler: handOver(nil), ServerStreams: true, ClientStreams: true},
	{StreamName: "Pour", Handler: handOver(large), ServerStreams: true, ClientStreams: true},
	{StreamName: "Trickle", Handler: handOver(tiny), ServerStreams: true, ClientStreams: true},
}

func handOver(m *message) grpc.StreamHandler {
	send := func(s *streams.Server[message, message]) {
		for m != nil && s.TrySend(m) == nil {
		}
	}
	calls := &streams.ServerCallbacks[message, message]{OnReady: send}
	return func(_ any, stream grpc.ServerStream) error {
		s, err := streams.HandOver(stream, calls, nil)
		if err == nil {
			send(s)
		}
		return err
	}
}

// onceHanded makes a call without a goroutine of its own, and waits for its end.
func onceHanded(ctx context.Context, begin func(...grpc.CallOption) (grpc.ClientStream, error), m *message) error {
	done := make(chan error, 1)
	send := func(c *streams.Client[message, message]) {
		for m != nil && c.TrySend(m) == nil {
		}
	}
	c, err := streams.Open(&streams.ClientCallbacks[message, message]{
		OnReady: send,
		OnDone:  func(_ *streams.Client[message, message], err error) { done <- err },
	}, nil, func(o grpc.CallOption) (grpc.ClientStream, error) { return begin(o) })
	if err != nil {
		return err
	}
	send(c)
	select {
	case err = <-done:
		return err
	case <-ctx.Done():
		return <-done
	}
}
