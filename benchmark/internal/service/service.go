// SPDX-License-Identifier: Apache-2.0

// Package service implements the service that the benchmarks call.
package service

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/benchmark/benchpb"
	"google.golang.org/grpc/benchmark/internal/handed"
)

const maxPayload = 16 << 20

// MaxMessage is the largest message the benchmarks send, with room for what surrounds
// the payload.
const MaxMessage = maxPayload + 1<<10

// Bench is the service. It counts the calls and messages it answers.
type Bench struct {
	benchpb.UnimplementedBenchServer
	served atomic.Uint64

	mu       sync.Mutex
	state    *benchpb.State
	changed  chan struct{} // closed when state is replaced
	watchers uint64
	hub      *handed.Hub // nil: a watcher's handler waits
}

// New returns a service whose state is at version 1.
func New() *Bench {
	b := &Bench{
		state:   &benchpb.State{Version: 1, Text: "started"},
		changed: make(chan struct{}),
	}
	if handed.On() {
		b.hub = handed.NewHub()
	}
	return b
}

// Served is how many calls and messages were answered.
func (b *Bench) Served() uint64 { return b.served.Load() }

// CountOne counts a message that was answered without a protocol.
func (b *Bench) CountOne() { b.served.Add(1) }

// Echo answers with as many bytes as the request asks for.
func (b *Bench) Echo(_ context.Context, req *benchpb.Message) (*benchpb.Message, error) {
	b.served.Add(1)
	return &benchpb.Message{Payload: Payload(int(req.GetAnswerSize()))}, nil
}

// Chat answers each message with as many bytes as it asks for.
func (b *Bench) Chat(stream grpc.BidiStreamingServer[benchpb.Message, benchpb.Message]) error {
	answer := &benchpb.Message{}
	for {
		req, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		answer.Payload = Payload(int(req.GetAnswerSize()))
		if err := stream.Send(answer); err != nil {
			return err
		}
		b.served.Add(1)
	}
}

// Pull sends messages until the client has as many as it wants, or goes.
func (b *Bench) Pull(req *benchpb.PullRequest, stream grpc.ServerStreamingServer[benchpb.Message]) error {
	message := &benchpb.Message{Payload: Payload(int(req.GetSize()))}
	for sent := uint64(0); req.GetCount() == 0 || sent < req.GetCount(); sent++ {
		if err := stream.Send(message); err != nil {
			return err
		}
		b.served.Add(1)
	}
	return nil
}

// Push counts messages until the client has sent all.
func (b *Bench) Push(stream grpc.ClientStreamingServer[benchpb.Message, benchpb.PushSummary]) error {
	sum := &benchpb.PushSummary{}
	for {
		msg, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return stream.SendAndClose(sum)
		}
		if err != nil {
			return err
		}
		sum.Messages++
		sum.Bytes += uint64(len(msg.GetPayload()))
		b.served.Add(1)
	}
}

// Watch sends the state, and again whenever it changed.
func (b *Bench) Watch(_ *benchpb.WatchRequest, stream grpc.ServerStreamingServer[benchpb.State]) error {
	if b.hub != nil {
		state, _ := b.watch(0)
		return b.hub.Watch(state, stream)
	}
	state, changed := b.watch(1)
	defer b.watch(-1)
	for {
		if err := stream.Send(state); err != nil {
			return err
		}
		select {
		case <-stream.Context().Done():
			return stream.Context().Err()
		case <-changed:
			state, changed = b.watch(0)
		}
	}
}

// Publish replaces the state.
func (b *Bench) Publish(_ context.Context, next *benchpb.State) (*benchpb.PublishSummary, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.state = &benchpb.State{Version: b.state.GetVersion() + 1, Text: next.GetText()}
	close(b.changed)
	b.changed = make(chan struct{})
	if b.hub != nil {
		b.watchers = b.hub.Publish(b.state)
	}
	return &benchpb.PublishSummary{Watchers: b.watchers}, nil
}

// watch counts a watcher in or out and returns the state with what tells of its end.
func (b *Bench) watch(more int) (*benchpb.State, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.watchers += uint64(more)
	return b.state, b.changed
}

// zeros is not on the heap, where it would let the collector run less often; while nobody
// writes to it, it takes no memory.
var zeros [maxPayload]byte

// Payload is n zeros that nobody may change, at most 16 MiB.
func Payload(n int) []byte {
	n = min(n, maxPayload)
	return zeros[:n:n]
}
