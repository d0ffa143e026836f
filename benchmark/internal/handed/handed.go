// SPDX-License-Identifier: Apache-2.0

//go:build !published

// Package handed has the streams of watchers held without a goroutine, on both sides, where
// the environment says so. The published module can't do that.
package handed

import (
	"context"
	"os"

	"google.golang.org/grpc"
	"google.golang.org/grpc/benchmark/benchpb"
	"google.golang.org/grpc/experimental/streams"
)

// env is the variable that turns it on, if it is not empty.
const env = "GRPC_BENCH_HANDED"

// On says that it is.
func On() bool { return os.Getenv(env) != "" }

// watcher is a server's end of a watch.
type watcher = streams.Server[streams.None, benchpb.State]

// Hub has the watchers of a server.
type Hub struct {
	calls streams.ServerCallbacks[streams.None, benchpb.State]
	all   streams.Group[streams.None, benchpb.State]
}

// NewHub returns one without watchers.
func NewHub() *Hub {
	h := &Hub{}
	h.calls.OnDone = func(w *watcher, _ error) { h.all.Remove(w) }
	return h
}

// Watch takes a stream over, for its handler, and sends state.
func (h *Hub) Watch(state *benchpb.State, stream grpc.ServerStreamingServer[benchpb.State]) error {
	w, err := streams.ServerStreaming(stream, &h.calls, nil)
	if err != nil {
		return err
	}
	h.all.Add(w)
	return w.Send(state)
}

// Publish sends state to all watchers, and returns how many there are.
func (h *Hub) Publish(state *benchpb.State) uint64 {
	return uint64(h.all.Send(state))
}

// listener is a client's end of a watch.
type listener = streams.Client[streams.None, benchpb.State]

// Listeners is who hears on a client's ends: one value for all.
type Listeners struct {
	calls streams.ClientCallbacks[streams.None, benchpb.State]
}

// NewListeners returns Listeners that have seen called with each state that comes.
func NewListeners(seen func(*benchpb.State)) *Listeners {
	l := &Listeners{}
	l.calls.OnMessage = func(_ *listener, m *benchpb.State) { seen(m) }
	return l
}

// Listen begins a watch.
func (l *Listeners) Listen(ctx context.Context, client benchpb.BenchClient) error {
	_, err := streams.OpenServerStreaming(&l.calls, nil, func(o grpc.CallOption) (grpc.ServerStreamingClient[benchpb.State], error) {
		return client.Watch(ctx, &benchpb.WatchRequest{}, o)
	})
	return err
}
