// SPDX-License-Identifier: Apache-2.0

package bare

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"

	"google.golang.org/grpc/benchmark/benchpb"
	"google.golang.org/protobuf/proto"
)

// start connects a client with a server.
func start(t *testing.T, handle Handler) *Conn {
	t.Helper()
	near, far := net.Pipe()
	var wg sync.WaitGroup
	wg.Go(func() { Serve(far, handle) })
	t.Cleanup(func() {
		near.Close()
		wg.Wait()
	})
	return NewConn(near)
}

// Each caller gets the answer to its own call.
func TestCalls(t *testing.T) {
	client := benchpb.NewBenchClient(start(t, func(_ context.Context, m *benchpb.Message) (*benchpb.Message, error) {
		return proto.Clone(m).(*benchpb.Message), nil
	}))
	var wg sync.WaitGroup
	for caller := range 16 {
		wg.Go(func() {
			for i := range 100 {
				want := &benchpb.Message{Payload: make([]byte, 300*i), AnswerSize: uint32(caller)}
				got, err := client.Echo(t.Context(), want)
				if err != nil || !proto.Equal(got, want) {
					t.Errorf("caller %d got %d bytes for %d: %v", got.GetAnswerSize(), len(got.GetPayload()), caller, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// A connection that ends fails the calls on it, and all that follow.
func TestEnd(t *testing.T) {
	client := benchpb.NewBenchClient(start(t, func(context.Context, *benchpb.Message) (*benchpb.Message, error) {
		return nil, errors.New("no answer")
	}))
	for range 2 {
		if _, err := client.Echo(t.Context(), &benchpb.Message{}); err == nil {
			t.Error("a call succeeded")
		}
	}
	if _, err := client.Chat(t.Context()); err == nil {
		t.Error("there is a stream")
	}
}
